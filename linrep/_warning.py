"""A warning at the line that called linrep, however deep in it the trouble is found."""

import sys
import warnings


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn of something, at the line outside of linrep that led here."""
    depth = 1
    while sys._getframe(depth).f_globals.get("__name__", "").startswith("linrep."):
        depth += 1
    warnings.warn(message, category, stacklevel=depth + 1)
