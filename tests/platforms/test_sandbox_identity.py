"""Connector and sandbox agree on what identifies the sandbox."""

from gaelp.platforms.sandbox_identity import SANDBOX_ORGANISATION, SANDBOX_TIME_HEADER
from gaelp.sandbox.certificate import ORGANISATION
from gaelp.sandbox.front import TIME_HEADER


def test_the_sandbox_is_recognised_by_what_it_has():
    assert (SANDBOX_ORGANISATION, SANDBOX_TIME_HEADER) == (ORGANISATION, TIME_HEADER)
