"""Put the pipeline's commands on the command line."""

import typer

from flows.commands import gate, runs
from flows.commands.bench import pipeline
from flows.commands.run import run
from flows.commands.up import down, up
from gaelp.cli import bench

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add what drives the pipeline; Prefect itself is imported when a command needs it, it takes seconds."""
    bench.app.command("pipeline")(pipeline)
    app.command("up")(up)
    app.command("down")(down)
    app.command("run")(run)
    app.add_typer(gate.app, name="gate")
    app.command("runs")(runs.runs)
    app.command("status")(runs.status)
    app.command("resume")(runs.resume)
    app.command("stop")(runs.stop)
