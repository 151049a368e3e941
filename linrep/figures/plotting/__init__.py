"""Pictures: pure functions of stored rows, in one style for paper and screen."""

from linrep.figures.plotting.lines import curves, dots, evidence, scaling
from linrep.figures.plotting.maps import heat_map
from linrep.figures.plotting.page import (
    COLUMN_WIDTH,
    PAGE_WIDTH,
    caption,
    figure_width,
    plain_log_ticks,
    style,
)
from linrep.figures.plotting.panels import facets, grid_of_curves, panels
from linrep.figures.plotting.readings import readings

__all__ = [
    "COLUMN_WIDTH",
    "PAGE_WIDTH",
    "caption",
    "curves",
    "dots",
    "evidence",
    "facets",
    "figure_width",
    "grid_of_curves",
    "heat_map",
    "panels",
    "plain_log_ticks",
    "readings",
    "scaling",
    "style",
]


def __dir__():
    return sorted(__all__)
