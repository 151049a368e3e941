"""Small parts that all of linrep uses, and that know nothing of what it is about."""
