"""Phase 3 alone, as a deployment of its own: pilot the agent of a run that passed gate 2; no gate is passed."""

from typing import Any

from prefect import flow

from flows.long_phases import proven_before
from flows.one_phase import judge_alone
from flows.run import failure_on_record, join
from gaelp.phases.pilot_declaration import PILOT

__all__ = ["pilot"]


@flow(name="pilot", flow_run_name="{run_id}-pilot", persist_result=True, result_serializer="json")
def pilot(run_id: str, previous: str, config: str = "quick-test", overrides: list[str] | None = None) -> Any:
    """Let the agent of a run whose second gate was passed spend a small budget; `previous` is the file of its result.

    A run has one pilot: what was spent is never spent again. Nothing follows from the verdict.
    """
    run = join(config, overrides or [], run_id)
    with failure_on_record(run):
        proven = proven_before(run, PILOT, previous)
    return judge_alone(run, PILOT, proven)
