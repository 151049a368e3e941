"""The report: one self-contained page of verdicts, evidence and figures, from stored rows."""

from linrep.report.gather import gather
from linrep.report.render import render

__all__ = ["gather", "render"]
