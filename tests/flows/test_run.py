"""The id of a run and the record of its end."""

from types import SimpleNamespace
from uuid import UUID

import pytest
from prefect.client.schemas.objects import FlowRun
from prefect.exceptions import TerminationSignal

from flows.run import GateClosed, failure_on_record, run_name
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.runs import read_end

FLOW_RUN = UUID("06605f57-5380-4ae8-a8fc-eba49ff493ee")


def test_a_flow_run_drives_a_run_of_the_same_id_each_time_it_is_started():
    flow_run = FlowRun(id=FLOW_RUN, flow_id=FLOW_RUN, created="2026-11-16T02:06:41Z")
    assert run_name(flow_run) == run_name(flow_run) == "20261116-020641-f493ee"


@pytest.mark.parametrize(
    ("raised", "state", "reason"),
    [
        (GateClosed("Refused", "fails, 1 of 6 rules"), "Refused", "fails, 1 of 6 rules"),
        (OSError("the disk is full"), "Failed", "the disk is full"),
        (KeyboardInterrupt(), "Stopped", "`gaelp resume r` resumes it"),
        (TerminationSignal(15), "Stopped", "`gaelp resume r` resumes it"),
    ],
)
def test_how_a_run_ended_early_is_on_record(tmp_path, raised, state, reason):
    run = SimpleNamespace(folder=RunFolder(tmp_path, "r"), run_id="r")
    with pytest.raises(type(raised)), failure_on_record(run):
        raise raised
    end = read_end(run.folder)
    assert (end.state, end.reason) == (state, reason)


def test_a_run_that_is_suspended_has_not_ended(tmp_path):
    class Suspended(BaseException):
        """What Prefect raises."""

    run = SimpleNamespace(folder=RunFolder(tmp_path, "r"), run_id="r")
    with pytest.raises(Suspended), failure_on_record(run):
        raise Suspended
    assert read_end(run.folder) is None
