"""Put the pipeline's commands on the command line."""

import typer

from gaelp.cli.lazy_commands import add_command

__all__ = ["register"]

_COMMANDS = (  # what is typed, where it is, and the first line of its own help
    (
        "bench pipeline",
        "flows.commands.bench:pipeline",
        "Seconds that the flow takes in a terminal, beside those of its phases without Prefect.",
    ),
    (
        "up",
        "flows.commands.up:up",
        "Start what the pipeline needs and serve it until Ctrl-C: server, UI, schedules, the emergency stop over HTTP.",
    ),
    (
        "down",
        "flows.commands.up:down",
        "Stop what `gaelp up` started: runs at work are stopped and can be resumed, suspended ones stay suspended.",
    ),
    ("run", "flows.commands.run:run", "Run the pipeline in this terminal: every phase there is, each behind its gate."),
    ("gate", "flows.commands.gate:app", "Gates that wait for a person: look at the evidence and decide."),
    (
        "runs",
        "flows.commands.runs:runs",
        "List the runs below the home, of the pipeline and of `gaelp train`, oldest first; queued ones are last.",
    ),
    (
        "status",
        "flows.commands.runs:status",
        "Show a run: its state, the phases finished, verdicts, who decided what, and what it waits for.",
    ),
    (
        "compare",
        "flows.commands.compare:compare",
        "Put two or more runs side by side: config, agent, market, seed, figures with intervals, verdict.",
    ),
    (
        "resume",
        "flows.commands.runs:resume",
        "Resume a run that was interrupted, crashed or expired; what it finished is not computed again.",
    ),
    (
        "stop",
        "flows.commands.runs:stop",
        "Stop a run; `gaelp resume` resumes it from its last checkpoint, and asks again at a gate.",
    ),
)


def register(app: typer.Typer) -> None:
    """Add what drives the pipeline; Prefect is imported by the command that needs it."""
    for command in _COMMANDS:
        add_command(app, *command)
