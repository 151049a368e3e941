"""The tests of linrep; they mirror the package."""
