"""What holds for all tests."""

import importlib.util
import signal
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_reaches_what_is_started_here():
    """A shell starts background jobs deaf to Ctrl-C, and their children stay so; some tests press it."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def databases():
    """tests/budget/ledger_databases.py, loaded once for all folders of tests, so that they share one Postgres."""
    if "ledger_databases" not in sys.modules:
        path = Path(__file__).resolve().parent / "budget" / "ledger_databases.py"
        spec = importlib.util.spec_from_file_location("ledger_databases", path)
        sys.modules["ledger_databases"] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules["ledger_databases"]


@pytest.fixture(params=["sqlite", "postgres"])
def database_kind(request):
    """What holds on one database holds on the other."""
    return request.param


@pytest.fixture
def place(database_kind, databases):
    """An empty database: a path or a URL."""
    return databases.fresh_place(database_kind)
