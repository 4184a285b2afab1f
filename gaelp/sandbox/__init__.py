"""A local ad platform in its own process: real API clients, simulated time and money."""
