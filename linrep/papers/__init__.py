"""The four papers: their statements as claims with findings and proofs, settings of their figures.

In the folder of each `ledger.json` and `ledger.parquet` hold what is recorded.
"""
