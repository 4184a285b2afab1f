"""Phase 1 alone, as a deployment of its own: train and see the verdict; no gate is passed."""

from typing import Any

from prefect import flow

from flows.one_phase import judge_alone
from flows.run import begin, flow_run_name
from gaelp.phases.simulation_declaration import SIMULATION

__all__ = ["simulation"]


@flow(name="simulation", flow_run_name=flow_run_name, persist_result=True, result_serializer="json")
def simulation(config: str = "quick-test", overrides: list[str] | None = None, run_id: str | None = None) -> Any:
    """Train an agent and judge it; nothing follows from the verdict."""
    return judge_alone(begin(config, overrides or [], "person", run_id), SIMULATION)
