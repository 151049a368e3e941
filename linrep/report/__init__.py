"""The report: one self-contained page of verdicts, evidence and figures, from stored rows."""

from linrep._lib.extras import need

need("claims", "the report")

from linrep.report.page import gather, render  # noqa: E402

__all__ = ["gather", "render"]
