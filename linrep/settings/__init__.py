"""Settings of the papers' figures: what the script that draws one and the claims on it share.

A module per paper. Which truths and seeds there are is up to those who run them.
"""
