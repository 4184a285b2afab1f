"""What the Beam jobs compute, as pure functions over Arrow tables."""
