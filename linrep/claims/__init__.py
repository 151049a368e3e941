"""Claims of the papers: statements with the checks that can refute them, verdicts, the ledger."""

import lazy_loader

from linrep._lib.extras import need

need("claims", "linrep.claims")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
