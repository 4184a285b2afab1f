"""The methods of ExperimentService beside Mutate: schedule, end, promote and graduate an experiment."""

from collections.abc import Callable

from google.longrunning.operations_pb2 import Operation
from google.protobuf.empty_pb2 import Empty

from gaelp.sandbox.google.account_store import AccountStore
from gaelp.sandbox.google.experiments import (
    end_experiment,
    graduate_experiment,
    promote_experiment,
    schedule_experiment,
)
from gaelp.sandbox.google.failures import AdsError, AdsRefusal
from gaelp.sandbox.google.messages import Message, new
from gaelp.sandbox.google.resource_kinds import KINDS
from gaelp.sandbox.google.resource_names import parse_name
from gaelp.sandbox.google.session import AdsSession, ValidatedOnly

__all__ = ["end", "graduate", "list_async_errors", "promote", "schedule"]


def _change(
    session: AdsSession, name: str, request: Message, work: Callable[[AccountStore, Message], set[str]], answer: Message
) -> Message:
    """Change an experiment and how its campaigns serve."""
    store = session.begin_change(1).store
    parsed = parse_name(name, "experiments", session.customer)
    experiment = store.find(KINDS["experiment"], parsed.key)
    if experiment is None:
        text = f"Resource was not found: '{name}'."
        raise AdsRefusal(AdsError("experiment_error", "EXPERIMENT_NOT_FOUND", text, trigger=name))
    session.serve(store, work(store, experiment))
    if request.validate_only:
        raise ValidatedOnly(answer)
    return answer


def _finished(session: AdsSession, name: str, metadata: str) -> Message:
    """A long-running operation that is done: simulated time does not pass inside a call."""
    operation = Operation(name=f"customers/{session.customer}/operations/{session.request_id}", done=True)
    operation.response.Pack(Empty())
    operation.metadata.Pack(new(f"services.{metadata}", experiment=name))
    return operation


def schedule(session: AdsSession, request: Message) -> Message:
    """ScheduleExperiment."""
    answer = _finished(session, request.resource_name, "ScheduleExperimentMetadata")
    return _change(session, request.resource_name, request, schedule_experiment, answer)


def promote(session: AdsSession, request: Message) -> Message:
    """PromoteExperiment."""
    answer = _finished(session, request.resource_name, "PromoteExperimentMetadata")
    return _change(session, request.resource_name, request, promote_experiment, answer)


def end(session: AdsSession, request: Message) -> Message:
    """EndExperiment."""
    return _change(session, request.experiment, request, end_experiment, Empty())


def graduate(session: AdsSession, request: Message) -> Message:
    """GraduateExperiment."""
    budgets = {pair.experiment_campaign: pair.campaign_budget for pair in request.campaign_budget_mappings}

    def work(store: AccountStore, experiment: Message) -> set[str]:
        return graduate_experiment(store, experiment, budgets)

    return _change(session, request.experiment, request, work, Empty())


def list_async_errors(_session: AdsSession, _request: Message) -> Message:
    """ListExperimentAsyncErrors: there are none, because nothing fails later."""
    return new("services.ListExperimentAsyncErrorsResponse")
