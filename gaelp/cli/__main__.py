"""`python -m gaelp.cli`: the gaelp command where its script is not on the path."""

from gaelp.cli.main import run

run()
