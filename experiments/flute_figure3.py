"""FLUTE, Figure 3: FLUTE and FedRep on models of decaying spectrum, a panel per k, M and N.

What is open in the paper is as in Figure 1's script, which has the code.
"""

from dataclasses import replace
from functools import partial

from linrep.cli import run_script
from linrep.figures.experiment import load

FIGURE1 = load("flute.figure1")

EXPERIMENT = replace(
    FIGURE1,
    id="flute.figure3",
    title="FLUTE and FedRep on models of decaying spectrum",
    cells=partial(FIGURE1.cells, models="decaying"),
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
