"""The four papers: their statements as claims with findings and proofs, settings of their figures.

`ledger.json` and `ledger.parquet` hold the verdicts as recorded.
"""
