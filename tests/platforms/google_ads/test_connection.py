"""Every call has a deadline; reads are retried a few times, with jitter, and only where a retry can help."""

import time

import pytest
from google.api_core.exceptions import GoogleAPICallError

from gaelp.errors import BadInput
from gaelp.platforms.google_ads.connection import AdsConnection
from gaelp.platforms.google_ads.gaql import query, quoted

CUSTOMER = query("customer", "customer.id")


@pytest.fixture
def connection(sandbox):
    waits = []
    made = AdsConnection(sandbox.settings(deadline_seconds=0.5), sleep=waits.append, jitter=lambda: 0.5)
    made.waits = waits
    return made


@pytest.mark.parametrize("status", ["UNAVAILABLE", "INTERNAL", "ABORTED", "RESOURCE_EXHAUSTED", "UNKNOWN"])
def test_a_read_is_tried_four_times_at_growing_intervals(connection, sandbox, status):
    sandbox.fail("error", method="*.SearchStream", status=status, times=3)
    assert len(connection.search(CUSTOMER)) == 1
    assert connection.waits == [0.1, 0.2, 0.4]
    sandbox.fail("error", method="*.SearchStream", status=status, times=4)
    with pytest.raises(GoogleAPICallError):
        connection.search(CUSTOMER)


@pytest.mark.parametrize("status", ["PERMISSION_DENIED", "INVALID_ARGUMENT", "UNIMPLEMENTED"])
def test_what_no_retry_can_help_fails_at_once(connection, sandbox, status):
    sandbox.fail("error", method="*.SearchStream", status=status, times=2)
    with pytest.raises(GoogleAPICallError):
        connection.search(CUSTOMER)
    assert connection.waits == []


def test_no_call_waits_longer_than_its_deadline(connection, sandbox):
    sandbox.fail("lost", method="*.SearchStream", seconds=30, times=None)
    began = time.monotonic()
    with pytest.raises(GoogleAPICallError):
        connection.search(CUSTOMER)
    assert time.monotonic() - began < 3


def test_a_change_is_sent_once(connection, sandbox):
    sandbox.fail("error", method="*.Mutate", status="UNAVAILABLE")
    operation = connection.message("MutateOperation")
    operation.label_operation.create.name = "once"
    with pytest.raises(GoogleAPICallError):
        connection.mutate([operation])
    assert connection.search(query("label", "label.name")) == []


def test_a_name_with_quotes_is_one_literal_and_a_control_character_is_refused(connection):
    name = "it's \\ a 'name'"
    operation = connection.message("MutateOperation")
    operation.label_operation.create.name = name
    connection.mutate([operation])
    [row] = connection.search(query("label", "label.name", where=[f"label.name = {quoted(name)}"]))
    assert row.label.name == name
    with pytest.raises(BadInput, match="no query can hold"):
        quoted("a\nb")
