"""Sweeps: any function of parameters and a random stream, over grids, with replicates.

A sweep is a function, a grid of cells and a number of replicates; running it fills a run directory
with rows, chunk by chunk, and goes on where it was after any interruption. Nothing here knows of
federated learning.
"""

from linrep._lib.extras import need

need("sweeps", "linrep.sweeps")

from linrep._lib.formulas import Expression
from linrep.sweeps.checkpoints import note, scratch
from linrep.sweeps.codes import MixedCode, OtherCode
from linrep.sweeps.directories import create_run, open_run
from linrep.sweeps.grid import Grid, canonical, cell_name
from linrep.sweeps.merging import Deviation, Overlapping, merge
from linrep.sweeps.runner import Stopped, Sweep, run
from linrep.sweeps.specification import Specification, generator, stream_key
from linrep.sweeps.store import Completeness, Incomplete, Run
from linrep.sweeps.summary import PowerLaw, power_laws, summarize, thresholds
from linrep.sweeps.targets import label, load

__all__ = [
    "Completeness",
    "Deviation",
    "Expression",
    "Grid",
    "Incomplete",
    "MixedCode",
    "OtherCode",
    "Overlapping",
    "PowerLaw",
    "Run",
    "Specification",
    "Stopped",
    "Sweep",
    "canonical",
    "cell_name",
    "create_run",
    "generator",
    "label",
    "load",
    "merge",
    "note",
    "open_run",
    "power_laws",
    "run",
    "scratch",
    "stream_key",
    "summarize",
    "thresholds",
]


def __dir__():
    return sorted(__all__)
