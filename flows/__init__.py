"""The pipeline on Prefect: the flow `gaelp`, its gates, and the commands that drive it."""
