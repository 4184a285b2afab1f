"""GAELP: an advertising agent from simulation to real money, one proven step at a time."""
