"""A phase as a task: its work is done once for each attempt, and the path of its result is stored."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from prefect import task

from gaelp.phases.declaration import Assignment, PhaseDeclaration, carry_out
from tasks.data_jobs import run_as_task
from tasks.progress import report_progress
from tasks.results import artifact_key, kept

__all__ = ["do_phase"]

Assign = Callable[[int, Callable[[Any], None]], Assignment]


@task(name="phase", task_run_name="{phase}-{attempt}", **kept("declared", "assign"))
def do_phase(
    phase: str, run_id: str, attempt: int, extension: int, *, declared: PhaseDeclaration, assign: Assign
) -> str:
    """Do the work of one attempt at a phase; returns the file that holds what it proved."""
    show = report_progress(artifact_key(phase, run_id, attempt))
    return str(carry_out(declared, replace(assign(extension, show), run_job=run_as_task)))
