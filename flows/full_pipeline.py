"""The flow `gaelp`: from simulation towards real money, one proven step at a time."""

from typing import Any

from prefect import flow

from flows.gate import GateClosed, pass_gates
from flows.run import ApprovalMode, begin
from gaelp.phases import declared

__all__ = ["gaelp"]


@flow(name="gaelp", flow_run_name="gaelp", persist_result=True, result_serializer="json")
def gaelp(
    config: str = "quick-test",
    overrides: list[str] | None = None,
    approval: ApprovalMode = "person",
    run_id: str | None = None,
) -> Any:
    """Run the declared phases, each behind its gate: an automatic verdict, then a person's approval.

    A run that was suspended or killed comes through here again from the top; what it finished is not computed a second
    time, and what a person decided is not asked again.
    """
    run = begin(config, overrides or [], approval, run_id)
    try:
        passed = pass_gates(run, declared.PHASES)
    except GateClosed as closed:
        return closed.state()
    return run.finished(*passed)
