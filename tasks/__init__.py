"""Thin Prefect tasks: a name, retries, caching and a record for each; the work is in gaelp.phases."""
