"""The site: pages on the claims are made from what is recorded."""

project = "Provable meta-learning of linear representations"
extensions = ["myst_parser", "linrep.report.sphinx"]
linrep_papers = ["tjj"]
myst_enable_extensions = ["attrs_inline", "dollarmath"]
exclude_patterns = ["_build"]
