"""The command line: Typer commands that call the packages of GAELP and show what they return."""
