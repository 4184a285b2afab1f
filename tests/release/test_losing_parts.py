"""Which ad groups lost most against the control."""

import numpy as np

from gaelp.release.losing_parts import losing_parts

TARGETS = [("spring", ("bread", "cake")), ("summer", ("ice", "tea"))]
DOLLAR = 1_000_000


def parts(value, **more):
    """Two hours: the agent's, and the control's in which every dollar returns two."""
    value = np.array([value, [[2, 2], [2, 2]]]) * DOLLAR
    cost = np.full((2, 2, 2), DOLLAR) if "cost" not in more else more.pop("cost")
    treated = np.array([[True, True], [False, False]])
    return losing_parts(value, cost, np.ones((2, 2, 2), int), treated, TARGETS, **more)


def test_the_worst_come_first_and_those_that_won_are_left_out():
    found = parts([[1, 3], [0, 2]])
    assert [(part.campaign, part.target, part.lost_micros) for part in found] == [
        ("summer", "ice", 2 * DOLLAR),
        ("spring", "bread", DOLLAR),
    ]


def test_no_more_than_asked_for():
    assert [part.target for part in parts([[1, 1], [0, 1]], most=1)] == ["ice"]


def test_where_the_control_spent_nothing_the_rate_of_its_campaign_counts():
    cost = np.full((2, 2, 2), DOLLAR)
    cost[1, 1, 0] = 0
    value = np.array([[[2, 2], [0, 2]], [[2, 2], [0, 3]]]) * DOLLAR
    treated = np.array([[True, True], [False, False]])
    [worst, *_] = losing_parts(value, cost, np.ones((2, 2, 2), int), treated, TARGETS)
    assert (worst.target, worst.control_value_micros) == ("ice", 3 * DOLLAR)


def test_before_anything_is_reported_nothing_is_named():
    empty = np.zeros((0, 2, 2), np.int64)
    assert losing_parts(empty, empty, empty, np.zeros((0, 2), bool), TARGETS) == ()
