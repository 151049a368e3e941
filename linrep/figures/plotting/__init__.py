"""Pictures: pure functions of stored rows, in one style for paper and screen."""

from linrep.figures.plotting.lines import curves, dots, evidence, scaling
from linrep.figures.plotting.maps import heat_map, partition
from linrep.figures.plotting.page import (
    COLUMN_WIDTH,
    PAGE_WIDTH,
    caption,
    caption_height,
    plain_log_ticks,
    style,
)
from linrep.figures.plotting.panels import panels

__all__ = [
    "COLUMN_WIDTH",
    "PAGE_WIDTH",
    "caption",
    "caption_height",
    "curves",
    "dots",
    "evidence",
    "heat_map",
    "panels",
    "partition",
    "plain_log_ticks",
    "scaling",
    "style",
]


def __dir__():
    return sorted(__all__)
