"""Data quality: expectation suites, and what a stored window of data says to them."""
