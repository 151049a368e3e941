"""Exact limits of methods on fresh Gaussian batches as d and n grow together, m and k fixed."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
