"""Thousands of random steps: after each, the ledger says and holds exactly what a plain model does."""

import importlib.util
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from sqlalchemy import text

from gaelp.budget.latch import Latch
from gaelp.budget.ledger import AdAccount, CapKind, Ledger, create_ledger, open_account, set_limit
from gaelp.clock import ManualClock
from gaelp.money import Money

TABLES = ("account", "adjustment", "cap", "entry", "limit", "transfer")
START = datetime(2026, 3, 28, 22, 30, tzinfo=UTC)  # an hour before a day of 23 hours


@pytest.fixture(scope="module")
def model():
    spec = importlib.util.spec_from_file_location("ledger_model", Path(__file__).with_name("ledger_model.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def walk(model, place, tmp_path):
    """Make at least that many random steps on one database, emptied for each new walk."""
    shared = create_ledger(place, Latch(tmp_path / "STOPPED"))
    steps = 0

    def fresh():
        shared.latch.path.unlink(missing_ok=True)
        with shared.engine.begin() as connection:
            for table in TABLES:
                connection.execute(text(f"DELETE FROM ledger_{table}"))  # noqa: S608 - the names above
            connection.execute(text("UPDATE ledger_fence SET stop_id = '', record = ''"))
        clock = ManualClock(START)
        ledger = Ledger(shared.engine, shared.latch, clock)
        open_account(ledger, AdAccount("acc", "USD", "Europe/Berlin"))
        for cap, micros in model.LIMITS.items():
            owner = "" if cap.kind is CapKind.TOTAL else "acc"
            set_limit(ledger, cap, Money(micros, "USD"), account_id=owner)
        return ledger, clock

    def count():
        nonlocal steps
        steps += 1

    def run(at_least):
        machine = type("Machine", (model.LedgerMachine,), {"fresh": staticmethod(fresh), "count": staticmethod(count)})
        plan = settings(
            max_examples=20,
            stateful_step_count=50,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        while steps < at_least:
            run_state_machine_as_test(machine, settings=plan)
        return steps

    yield run
    shared.close()


def test_2000_random_steps_agree_with_the_model(walk):
    assert walk(2000) >= 2000


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_25000_random_steps_agree_with_the_model(walk):
    assert walk(25_000) >= 25_000
