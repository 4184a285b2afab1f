"""What holds for all tests."""

import signal

import pytest


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_reaches_what_is_started_here():
    """A shell starts background jobs deaf to Ctrl-C, and their children stay so; some tests press it."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
