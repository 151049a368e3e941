"""The report: one self-contained page of verdicts, evidence and figures, from stored rows."""

from linrep.report.page import gather, render

__all__ = ["gather", "render"]
