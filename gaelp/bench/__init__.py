"""What `gaelp bench` measures, and the peers it compares with. Nothing is re-exported: torch takes seconds."""
