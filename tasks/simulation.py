"""Phase 1 as a task: train, choose a checkpoint, judge it."""

from prefect import task

from gaelp.clock import SystemClock
from gaelp.config import load_settings
from gaelp.phases.run_folder import RunFolder
from gaelp.types import RunId
from tasks.results import KEPT, PhaseOutcome, artifact_key

__all__ = ["simulate"]


@task(name="simulation", task_run_name="simulation-{attempt}", **KEPT)
def simulate(config: str, overrides: list[str], run_id: str, attempt: int) -> PhaseOutcome:
    """Train on the market and judge what was learned; an interrupted attempt goes on from its last checkpoint."""
    # Imported here: a run that goes on after its gate has its result, and need not wait for torch.
    from gaelp.phases.simulation import of_attempt, plan_simulation, run_simulation  # noqa: PLC0415
    from tasks.progress import report_progress  # noqa: PLC0415

    plan = plan_simulation(of_attempt(load_settings(config, overrides=overrides).settings, attempt))
    folder = RunFolder(plan.settings.home, RunId(run_id), attempt)
    show = report_progress(artifact_key("training", run_id, attempt))
    result = run_simulation(plan, folder, clock=SystemClock(), on_report=show)
    return {
        "run_id": run_id,
        "attempt": attempt,
        "agent": result.agent,
        "learned": result.learned,
        "result": str(folder.result),
        "model_hash": result.model_hash,
        "verdict": result.verdict.model_dump(mode="json"),
    }
