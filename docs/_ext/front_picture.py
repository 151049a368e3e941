"""The picture of the README, drawn from the recorded figure pflmf.stationarity.

usage: python docs/_ext/front_picture.py    (after that figure was recorded anew)
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure

from linrep.figures import plotting, record, reproduction

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "docs" / "_static"
_MEASURED = "measure over Theorem 1's bound"


class Theme(NamedTuple):
    """Colours for a page's background; measured and bound differ in lightness, too."""

    text: str
    background: str
    measured: str
    allowed: str


#: By the picture's file. Light is opaque, so that it can be read wherever only it is shown.
THEMES = {
    "front.svg": Theme("#1f2328", "#ffffff", "#0173b2", "#e7eaee"),
    "front-dark.svg": Theme("#e6edf3", "none", "#56b4e9", "#2a313c"),
}


def ratios():
    """Return the measure over the bound by the clients' share p, for one local step."""
    manifest, _ = reproduction.read_record(ROOT / "figures", "pflmf.stationarity")
    table = record.flat(record.table(manifest["result"]))
    own = table[(table["what"] == _MEASURED) & (table["K"].astype(float) == 1)]
    return own["p"].astype(float).to_numpy(), own["value"].astype(float).to_numpy()


def setting():
    """Return the rounds T and how many draws the medians are of."""
    manifest, _ = reproduction.read_record(ROOT / "figures", "pflmf.stationarity")
    found = manifest["result"]["settings"]
    (rounds,) = {cell["T"] for cell in found["cells"]}
    return rounds, found["replicates"]


def description():
    """Return the points as text: the picture carries it, whatever Matplotlib draws of them."""
    return "; ".join(f"p = {p:g}: {ratio:.6g}" for p, ratio in zip(*ratios(), strict=True))


def draw(path, theme):
    """Draw the points with the bound, and what it allows shaded."""
    (p, ratio), (rounds, draws) = ratios(), setting()
    # Letters are drawn as shapes: a page that shows an image need not have the font.
    fonts = {"svg.fonttype": "path", "font.size": 12, "text.color": theme.text}
    with plotting.style(), mpl.rc_context(fonts):
        figure = Figure(figsize=(5.8, 3.9), layout="constrained", facecolor=theme.background)
        figure.suptitle(
            "Theorem 1 of pFL$\\mathbf{^{MF}}$, with L where iterates go,\n"
            "fails when few clients take part in a round",
            x=0.015, ha="left", fontsize=15, weight="bold",
        )  # fmt: skip
        ax = figure.subplots()
        ax.set_facecolor("none")
        ax.axhspan(1e-2, 1.0, color=theme.allowed, linewidth=0)
        ax.axhline(1.0, color=theme.text, linestyle="--", linewidth=1.8)
        ax.plot(p, ratio, "o-", color=theme.measured, linewidth=2.6, markersize=7)
        ax.text(0.0187, 0.75, "what Theorem 1 allows", va="top")
        ax.text(p[0] * 1.14, ratio[0] * 1.12, f"measured: {ratio[0]:.0f} times the bound",
                va="center", color=theme.measured, weight="bold")  # fmt: skip
        ax.text(1.08, ratio[1] * 1.5, f"T = {rounds}, medians of {draws} draws", ha="right")
        ax.set(
            xscale="log", yscale="log", ylim=(0.1, 2000), xticks=p, xlim=(0.0178, 1.12),
            yticks=[1, 10, 100, 1000],
        )  # fmt: skip
        ax.set_xlabel("share of clients that take part", fontsize=12)
        ax.set_ylabel("squared gradient / its bound", fontsize=12)
        ax.set_xticklabels([f"{value:g}" for value in p])
        ax.set_yticklabels(["1", "10", "100", "1000"])
        ax.tick_params(labelsize=12, colors=theme.text)
        ax.xaxis.label.set_color(theme.text)
        ax.yaxis.label.set_color(theme.text)
        ax.spines[:].set_color(theme.text)
        ax.minorticks_off()
        figure.savefig(
            path, format="svg", facecolor=theme.background,
            metadata={"Date": None, "Description": description()},
        )  # fmt: skip


if __name__ == "__main__":
    for name, theme in THEMES.items():
        draw(STATIC / name, theme)
