import math

import pytest
import torch

from gaelp.errors import BadInput, Refused
from gaelp.experience.value_guard import FieldSpec, ValueGuard

FIELDS = {"rewards": FieldSpec(value_low=-1.0, value_high=0.1), "obs": FieldSpec((2,))}


def rows(rewards=(0.0, 0.0, 0.0), obs=((0.0, 0.0),) * 3):
    return {"rewards": torch.tensor(rewards), "obs": torch.tensor(obs)}


def test_values_up_to_both_ends_of_the_range_pass():
    assert ValueGuard(FIELDS, "raise").check(rows((-1.0, 0.1, 0.0), ((3e38, -3e38),) * 3)) is None


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        (rows((0.0, 0.0, 0.11)), r"rewards\[2\] is 0\.1\d+, allowed is -1\.0\.\.0\.1"),
        (rows((0.0, -1.5, 0.0)), r"rewards\[1\] is -1\.5"),
        (rows((math.nan, 0.0, 0.0)), r"rewards\[0\] is nan"),
        (rows(obs=((0.0, 0.0), (0.0, math.inf), (0.0, 0.0))), r"obs\[1, 1\] is inf"),
        (rows(obs=((-math.inf, 0.0), (0.0, 0.0), (0.0, 0.0))), r"obs\[0, 0\] is -inf"),
        (rows(obs=((0.0, 0.0), (0.0, 0.0), (math.nan, 9.0))), r"obs\[2, 0\] is nan"),
    ],
)
def test_a_value_that_is_not_allowed_is_refused_with_its_place_and_the_way_out(given, seen):
    with pytest.raises(Refused, match=seen + ".*on_refused='skip'"):
        ValueGuard(FIELDS, "raise").check(given)


def test_skipping_marks_each_bad_row_once_and_counts():
    guard = ValueGuard(FIELDS, "skip")
    bad = guard.check(rows((5.0, 0.0, math.nan), ((math.nan, 0.0), (0.0, 0.0), (0.0, 0.0))))
    assert bad.tolist() == [True, False, True]
    assert guard.check(rows()) is None
    guard.check(rows((0.0, 7.0, 0.0)))
    assert guard.refused_rows == 3
    assert guard.last_refusal.startswith("rewards[1] is 7.0")


def test_integers_have_a_range_too():
    guard = ValueGuard({"actions": FieldSpec(dtype=torch.int64, value_low=0, value_high=3)}, "raise")
    assert guard.check({"actions": torch.tensor([0, 3])}) is None
    with pytest.raises(Refused, match=r"actions\[1\] is 4"):
        guard.check({"actions": torch.tensor([0, 4])})


def test_the_count_is_saved():
    guard, again = ValueGuard(FIELDS, "skip"), ValueGuard(FIELDS, "skip")
    guard.check(rows((5.0, 0.0, 0.0)))
    again.load_state(guard.state())
    assert (again.refused_rows, again.last_refusal) == (1, guard.last_refusal)


@pytest.mark.parametrize(
    "given", [rows() | {"rewards": torch.zeros(3, 1)}, rows() | {"rewards": torch.zeros(3, dtype=torch.float64)}]
)
def test_a_wrong_shape_or_type_is_bad_input_and_never_skipped(given):
    with pytest.raises(BadInput, match=r"declared is torch\.float32 with rows of shape"):
        ValueGuard(FIELDS, "skip").check(given)


def test_a_range_upside_down_and_an_unknown_policy_are_refused():
    with pytest.raises(BadInput, match=r"value_low=2\.0 must not exceed value_high=1\.0"):
        FieldSpec(value_low=2.0, value_high=1.0)
    with pytest.raises(BadInput, match="value_low=nan"):
        FieldSpec(value_low=math.nan)
    with pytest.raises(BadInput, match="'ignore' is unknown"):
        ValueGuard(FIELDS, "ignore")
