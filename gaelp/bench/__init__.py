"""What `gaelp bench` measures, and the peers it measures beside. Nothing is re-exported: torch takes seconds."""
