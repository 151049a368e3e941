"""Figures: how one is computed, stored with its rows, compared with the record, and drawn."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
