"""What the papers predict, and what is exact: pure functions of a problem's parameters."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
