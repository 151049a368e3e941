"""linrep: the theory of federated representation learning, checked by running it.

Names load on first use, so that importing the package costs nothing.
"""

from linrep._lib import lazy, moved

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy.attach(__name__, __file__)

moved.keep_importable(
    {
        "linrep.comparison": "linrep.simulation.comparison",
        "linrep.diagnosis": "linrep.algorithms.diagnosis",
        "linrep.driver": "linrep.algorithms.driver",
        "linrep.experiment": "linrep.figures.experiment",
        "linrep.plotting": "linrep.figures.plotting",
        "linrep.random": "linrep.problems.random",
        "linrep.settings": "linrep.figures",
        "linrep.subspace": "linrep.problems.subspace",
        "linrep.summaries": "linrep.figures.summaries",
    }
)
