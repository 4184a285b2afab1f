import re
import secrets
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mypy import api as mypy

from gaelp.clock import ManualClock, SystemClock
from gaelp.errors import BadInput
from gaelp.types import Phase, new_run_id

START = datetime(2026, 11, 16, 2, 6, 41, tzinfo=UTC)

POLICIES = """
from dataclasses import dataclass
from gaelp.types import Policy, PolicyState, SegmentBelief

class Brief: ...
class RichBrief(Brief): ...
class Obs: ...
class RichObs(Obs): ...
class Action: ...
class BidAction(Action): ...

@dataclass(frozen=True)
class Rule:
    name: str
    def begin(self, brief: Brief, belief: SegmentBelief | None = None) -> None: ...
    def state(self) -> PolicyState:
        return {}
    def load_state(self, brief: Brief, state: PolicyState) -> None: ...
    def act(self, observation: Obs) -> BidAction:
        return BidAction()

class Choosy:
    name = "choosy"
    def begin(self, brief: RichBrief, belief: SegmentBelief | None = None) -> None: ...
    def state(self) -> PolicyState:
        return {}
    def load_state(self, brief: RichBrief, state: PolicyState) -> None: ...
    def act(self, obs: RichObs) -> Action:
        return Action()

exact: Policy[Brief, Obs, BidAction] = Rule("constant")
needs_less_gives_more: Policy[RichBrief, RichObs, Action] = Rule("constant")
needs_more: Policy[Brief, Obs, Action] = Choosy()  # refused
gives_less: Policy[RichBrief, RichObs, BidAction] = Choosy()  # refused
nameless: Policy[Brief, Obs, Action] = object()  # refused

class Forgetful:
    name = "forgetful"
    def begin(self, brief: Brief, belief: SegmentBelief | None = None) -> None: ...
    def act(self, obs: Obs) -> Action:
        return Action()

without_state: Policy[Brief, Obs, Action] = Forgetful()  # refused
"""


def test_phases_follow_each_other_from_simulation_to_scale():
    passed = [Phase.SIMULATION]
    while (following := passed[-1].next) is not None:
        passed.append(following)
    assert passed == ["simulation", "history", "pilot", "scale"]
    assert Phase("pilot") is Phase.PILOT


def test_a_policy_may_need_less_and_give_more_than_asked_but_not_the_reverse(tmp_path):
    module = tmp_path / "policies.py"
    module.write_text(POLICIES)
    report, problems, _ = mypy.run(["--strict", "--config-file=", f"--cache-dir={tmp_path}", str(module)])
    assert not problems
    refused = {int(line) for line in re.findall(r"policies\.py:(\d+): error: Incompatible types in assignment", report)}
    assert refused == {number for number, line in enumerate(POLICIES.splitlines(), 1) if line.endswith("# refused")}
    assert report.count(" error: ") == len(refused)


def test_a_run_is_named_by_its_second_and_random_digits():
    assert new_run_id(ManualClock(START), lambda n: b"\x7f\x3a\x9c"[:n]) == "20261116-020641-7f3a9c"


@pytest.mark.parametrize("rng_bytes", [secrets.token_bytes, np.random.default_rng(0).bytes])
def test_run_ids_come_from_any_source_of_bytes(rng_bytes):
    assert re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{6}", new_run_id(SystemClock(), rng_bytes))


def test_the_same_clock_and_generator_give_the_same_run_id():
    first, again = (new_run_id(ManualClock(START), np.random.default_rng(7).bytes) for _ in range(2))
    assert first == again


@given(st.timedeltas(timedelta(seconds=1), timedelta(days=365 * 50)), st.binary(min_size=6, max_size=6))
def test_run_ids_sort_by_time(later, noise):
    clock = ManualClock(START)
    first = new_run_id(clock, lambda _: noise[:3])
    clock.advance(later)
    assert first < new_run_id(clock, lambda _: noise[3:])


def test_a_source_that_returns_too_few_bytes_is_refused():
    with pytest.raises(BadInput, match="returned 0 bytes"):
        new_run_id(ManualClock(START), lambda _: b"")
