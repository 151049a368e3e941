"""pFL^MF: claims of the paper on personalized models as one low-rank matrix."""
