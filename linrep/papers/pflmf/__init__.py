"""Claims of the pFL^MF paper."""
