"""The picture of the README, drawn from the recorded figure pflmf.stationarity.

usage: python docs/_ext/front_picture.py    (after that figure was recorded anew)
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt

from linrep import plotting, record, reproduction

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "_static" / "front.svg"
_MEASURED = "measure over Theorem 1's bound"


def ratios():
    """Return the measure over the bound by the clients' share p, for one local step."""
    manifest, _ = reproduction.read_record(ROOT / "figures", "pflmf.stationarity")
    table = record.flat(record.table(manifest["result"]))
    own = table[(table["what"] == _MEASURED) & (table["K"].astype(float) == 1)]
    return own["p"].astype(float).to_numpy(), own["value"].astype(float).to_numpy()


def description():
    """Return the points as text: the picture carries it, whatever Matplotlib draws of them."""
    return "; ".join(f"p = {p:g}: {ratio:.6g}" for p, ratio in zip(*ratios(), strict=True))


def draw(path=PICTURE):
    """Draw them with the bound, and what it allows shaded."""
    p, ratio = ratios()
    with plotting.style():
        figure, ax = plt.subplots(figsize=(6.0, 2.9), layout="constrained")
        ax.axhspan(1e-2, 1.0, color="0.92", linewidth=0)
        ax.axhline(1.0, color="0.3", linestyle="--", linewidth=1)
        ax.plot(p, ratio, "o-", color="C0")
        ax.text(0.021, 0.5, "what Theorem 1 allows", va="top", fontsize=8, color="0.3")
        ax.text(p[0] * 1.12, ratio[0], "measured", va="center", fontsize=8, color="C0")
        ax.set(
            xscale="log", yscale="log", ylim=(0.1, 2000), xticks=p, xlim=(0.018, 1.15),
            xlabel="probability $p$ that a client takes part in a round",
            ylabel="measured over bound",
            title=r"$\mathrm{pFL^{MF}}$, Theorem 1: the bound fails where few clients take part",
        )  # fmt: skip
        ax.set_xticklabels([f"{value:g}" for value in p])
        ax.minorticks_off()
        figure.savefig(path, format="svg", metadata={"Date": None, "Description": description()})
        plt.close(figure)


if __name__ == "__main__":
    draw()
