"""Phase 1 alone, as a deployment of its own: train and see the verdict; no gate is passed."""

from typing import Any

from prefect import flow

from flows.run import begin
from tasks.simulation import simulate
from tasks.verdicts import show_verdict

__all__ = ["simulation"]


@flow(name="simulation", flow_run_name="simulation", persist_result=True, result_serializer="json")
def simulation(config: str = "quick-test", overrides: list[str] | None = None, run_id: str | None = None) -> Any:
    """Train an agent and judge it; nothing follows from the verdict."""
    run = begin(config, overrides or [], "person", run_id)
    outcome = simulate(run.config, run.overrides, run.run_id, 1)
    show_verdict(outcome["verdict"], 1)
    return run.finished(outcome)
