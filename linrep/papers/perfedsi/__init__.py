"""Claims of the PerFedSI paper, on completion with side information, a file per part of it."""
