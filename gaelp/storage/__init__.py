"""Episode data: one schema for everything that is logged, and the stores that keep it."""
