"""The figure of paper.md, drawn from the recorded figure pflmf.stationarity.

usage: python docs/paper/figure.py    (after that figure was recorded anew)
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt

from linrep.figures import plotting, record, reproduction

HERE = Path(__file__).parent
PICTURE = HERE / "figure.png"
PRINTED, CORRECTED = "measure over Theorem 1's bound", "measure over the bound with sharp weights"


def ratios(what):
    """Return the measure over a bound by the clients' share p, for one local step."""
    manifest, _ = reproduction.read_record(HERE.parents[1] / "figures", "pflmf.stationarity")
    table = record.flat(record.table(manifest["result"]))
    own = table[(table["what"] == what) & (table["K"].astype(float) == 1)]
    return dict(zip(own["p"].astype(float), own["value"].astype(float), strict=True))


def description():
    """Return the points as text, which the picture carries."""
    return "; ".join(
        f"p = {p:g}: {printed:.6g}, {corrected:.6g}"
        for (p, printed), corrected in zip(
            ratios(PRINTED).items(), ratios(CORRECTED).values(), strict=True
        )
    )


def draw(path=PICTURE):
    """Draw measurements over the printed bound and the corrected one, and what is allowed."""
    with plotting.style():
        figure, ax = plt.subplots(figsize=(6.0, 2.6), layout="constrained")
        ax.axhspan(1e-2, 1.0, color="0.92", linewidth=0)
        ax.axhline(1.0, color="0.3", linestyle="--", linewidth=1)
        for what, mark, label in (
            (PRINTED, "o-", "over the printed bound"),
            (CORRECTED, "s-", "over the corrected bound"),
        ):
            found = ratios(what)
            ax.plot(list(found), list(found.values()), mark, label=label)
        ax.text(0.021, 0.115, "what a bound allows", va="bottom", fontsize=8, color="0.3")
        ax.set(
            xscale="log", yscale="log", ylim=(0.1, 2000), xticks=list(found), xlim=(0.018, 1.15),
            xlabel="probability $p$ that a client takes part in a round",
            ylabel="measured over bound",
        )  # fmt: skip
        ax.set_xticklabels([f"{value:g}" for value in found])
        ax.minorticks_off()
        ax.legend()
        metadata = {"Software": None, "Description": description()}
        figure.savefig(path, dpi=300, metadata=metadata)
        plt.close(figure)


if __name__ == "__main__":
    draw()
