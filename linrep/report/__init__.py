"""The report: one self-contained page of verdicts, evidence and figures, from stored rows."""

from linrep.report.contents import gather
from linrep.report.page import render

__all__ = ["gather", "render"]
