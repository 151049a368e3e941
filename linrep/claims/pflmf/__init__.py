"""Claims of the pFL^MF paper, on personalized models as a matrix of low rank, a file per part."""
