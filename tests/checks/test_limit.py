"""One comparator for gates, goals, guardrails and money rules: doubt never holds."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gaelp.checks import BOUNDS, Goal, Limit, Limited

FIGURES = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("bound", "below", "at", "above"),
    [
        ("at_least", False, True, True),
        ("at_most", True, True, False),
        ("above", False, False, True),
        ("below", True, False, False),
    ],
)
def test_a_figure_next_to_its_threshold_is_judged_by_the_bound(bound, below, at, above):
    limit = Limit(bound, 0.7)
    figures = (math.nextafter(0.7, 0), 0.7, math.nextafter(0.7, 1))
    assert [limit.holds(figure) for figure in figures] == [below, at, above]


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("figure", [None, math.nan, math.inf, -math.inf])
def test_what_is_missing_or_not_finite_keeps_no_limit(bound, figure):
    assert not Limit(bound, 0.0).holds(figure)


@pytest.mark.parametrize("bound", BOUNDS)
@given(figure=FIGURES, threshold=FIGURES)
def test_the_margin_has_the_sign_of_the_answer(bound, figure, threshold):
    limit = Limit(bound, threshold)
    margin = limit.margin(figure)
    assert limit.holds(figure) == (margin > 0 if bound in ("above", "below") else margin >= 0)


def test_integers_and_fractions_of_any_size_are_compared_exactly():
    huge = 10**400
    assert Limit("at_most", huge).holds(huge)
    assert not Limit("at_most", huge).holds(huge + 1)
    assert Limit("above", Fraction(1, 3)).holds(Fraction(1, 3) + Fraction(1, huge))


def test_a_bound_has_words_and_a_sign():
    assert [(Limit(bound, 0).words, Limit(bound, 0).sign) for bound in BOUNDS] == [
        ("at least", ">="),
        ("at most", "<="),
        ("above", ">"),
        ("below", "<"),
    ]


@pytest.mark.parametrize("bound", BOUNDS)
def test_a_file_names_the_bound_and_a_record_keeps_both_parts(bound):
    from_file = Limited.model_validate({bound: 0.5})
    assert from_file.limit == Limit(bound, 0.5)
    assert from_file.model_dump() == {"bound": bound, "threshold": 0.5}
    assert Limited.model_validate(from_file.model_dump()) == from_file
    assert Limited.model_validate_json(from_file.model_dump_json(), strict=True) == from_file


@pytest.mark.parametrize(
    ("values", "seen"),
    [
        ({}, "saw no limit"),
        ({"at_least": 1, "below": 2}, "saw at_least, below"),
        ({"at_least": math.nan}, "finite"),
        ({"bound": "at_least"}, "saw no limit"),
        ({"bound": "atleast", "threshold": 1}, "bound"),
        ({"bound": "at_least", "threshold": 1, "at_most": 2}, "bound"),
    ],
)
def test_a_model_has_exactly_one_limit(values, seen):
    with pytest.raises(ValidationError, match=seen):
        Limited.model_validate(values)


def test_a_copy_with_another_limit_is_judged_by_it():
    goal = Goal(metric="reward", at_least=0.7, compare="value")
    assert goal.limit.holds(0.8)
    changed = goal.model_copy(update={"at_least": None, "at_most": 0.7})
    assert (changed.bound, changed.limit.holds(0.8)) == ("at_most", False)
