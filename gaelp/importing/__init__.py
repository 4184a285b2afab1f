"""Logs and reports of others, read into the schema of gaelp.storage."""
