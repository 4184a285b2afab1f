"""Phase 4 alone, as a deployment of its own: release the agent of a run that passed gate 3; no gate is passed."""

from typing import Any

from prefect import flow

from flows.long_phases import proven_before
from flows.one_phase import judge_alone
from flows.run import failure_on_record, join
from gaelp.phases.scale_declaration import SCALE

__all__ = ["scale"]


@flow(name="scale", flow_run_name="{run_id}-scale", persist_result=True, result_serializer="json")
def scale(run_id: str, previous: str, config: str = "quick-test", overrides: list[str] | None = None) -> Any:
    """Release the agent of a run whose third gate was passed; `previous` is the file of its result.

    A run has one release: what was spent is never spent again. Nothing follows from the verdict.
    """
    run = join(config, overrides or [], run_id)
    with failure_on_record(run):
        proven = proven_before(run, SCALE, previous)
    return judge_alone(run, SCALE, proven)
