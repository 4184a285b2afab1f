"""Random steps: after each, the ledger returns and holds exactly what a plain model does."""

import importlib.util
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
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
def walk(model, random_walks, place, tmp_path):
    """Make at least that many different random steps on one database, emptied for each new machine."""
    shared = create_ledger(place, Latch(tmp_path / "STOPPED"))
    steps = random_walks.Steps()

    def fresh():
        steps.begin()
        shared.latch.path.unlink(missing_ok=True)
        with shared.database.engine.begin() as connection:
            for table in TABLES:
                connection.execute(text(f"DELETE FROM ledger_{table}"))  # noqa: S608 - the names above
            connection.execute(text("UPDATE ledger_fence SET stop_id = '', record = ''"))
        clock = ManualClock(START)
        ledger = Ledger(shared.database, shared.latch, clock)
        open_account(ledger, AdAccount("acc", "USD", "Europe/Berlin"))
        for cap, micros in model.LIMITS.items():
            owner = "" if cap.kind is CapKind.TOTAL else "acc"
            set_limit(ledger, cap, Money(micros, "USD"), account_id=owner)
        return ledger, clock

    def run(at_least, first_seed, examples=20):
        methods = {"fresh": staticmethod(fresh), "count": staticmethod(steps.make)}
        machine = type("Machine", (model.LedgerMachine,), methods)
        return random_walks.walk(machine, steps, at_least, first_seed=first_seed, examples=examples, length=50)

    yield run
    shared.close()


def test_random_steps_agree_with_the_model(walk, database_kind):
    at_least = {"sqlite": 500, "postgres": 200}[database_kind]
    assert walk(at_least, first_seed=0, examples=10) >= at_least


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_25000_different_random_steps_agree_with_the_model(walk, random_walks):
    assert walk(25_000, first_seed=random_walks.new_seed()) >= 25_000


def test_a_walk_that_repeats_steps_fails_and_names_its_seed(random_walks):
    steps = random_walks.Steps()
    machine = small_machine(lambda _: steps.make("the same"), steps.begin)
    with pytest.raises(AssertionError, match="the walk with the seed 8 only repeated"):
        random_walks.walk(machine, steps, 100, first_seed=7, examples=2, length=3)

    def fail(number):
        assert number < 0

    with pytest.raises(AssertionError) as failure:
        random_walks.walk(small_machine(fail, steps.begin), steps, 10, first_seed=7, examples=2, length=3)
    assert "seed 7;" in failure.value.__notes__[-1]


def test_walks_with_other_seeds_make_other_steps_where_ci_is_set_too(random_walks):
    settings.register_profile("as-in-ci", derandomize=True)
    before = settings.get_current_profile_name()
    settings.load_profile("as-in-ci")
    try:
        steps = random_walks.Steps()
        machine = small_machine(steps.make, steps.begin)
        assert random_walks.walk(machine, steps, 200, first_seed=1, examples=3, length=10) >= 200
    finally:
        settings.load_profile(before)


def small_machine(do, begin):
    class Small(RuleBasedStateMachine):
        def __init__(self):
            super().__init__()
            begin()

        @rule(number=st.integers(0, 10**6))
        def step(self, number):
            do(number)

    return Small
