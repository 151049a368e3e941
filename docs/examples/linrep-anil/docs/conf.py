"""The site: pages on the claims are made from what is recorded."""

project = "MAML and ANIL Provably Learn Representations"
extensions = ["myst_parser", "linrep.report.sphinx"]
linrep_papers = ["anil"]
myst_enable_extensions = ["attrs_inline", "dollarmath"]
exclude_patterns = ["_build"]
