import logging

import pytest

from flows.end_log import log_end
from flows.run import GateClosed

LOGGER = logging.getLogger("prefect.flow_runs")


@pytest.fixture
def lines(monkeypatch):
    """What is logged about flow runs, after flow run `one` was rejected."""
    monkeypatch.setattr(LOGGER, "filters", [])
    monkeypatch.setattr(LOGGER, "propagate", False)
    written = []
    handler = logging.Handler()
    handler.emit = lambda record: written.append(record.getMessage())
    monkeypatch.setattr(LOGGER, "handlers", [handler])
    log_end("one", GateClosed("Rejected", "rejected by Ada at gate pilot: no").sentence("r"))
    return written


def end_as_prefect_does(flow_run_id):
    LOGGER.warning("Finished in state Rejected('rejected by Ada', type=FAILED)", extra={"flow_run_id": flow_run_id})
    raised = RuntimeError("rejected by Ada")
    LOGGER.error("Engine execution exited", exc_info=raised, extra={"flow_run_id": flow_run_id})


def test_a_rejection_is_one_calm_line(lines):
    end_as_prefect_does("one")
    assert lines == ["run r was rejected by Ada at gate pilot: no"]


def test_another_flow_run_is_logged_as_ever(lines):
    end_as_prefect_does("another")
    assert len(lines) == 2


def test_a_gate_that_refuses_is_a_sentence_too():
    assert GateClosed("Refused", "Gate pilot: fails.").sentence("r") == "run r was refused: Gate pilot: fails."
