"""What the papers' methods are compared with."""
