"""Claims of the papers: statements with the checks that can refute them, verdicts, the ledger."""

from linrep._lib import lazy
from linrep._lib.extras import need

need("claims", "linrep.claims")

__getattr__, __dir__, __all__ = lazy.attach(__name__, __file__)
