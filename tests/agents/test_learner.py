"""What learners share: independent random streams, and the refusal of states that are not theirs."""

import pytest
import torch

from gaelp.agents.learner import random_streams, refuse_other_state
from gaelp.errors import BadInput


def test_streams_of_one_seed_repeat_and_differ_from_each_other_and_from_another_seed():
    drawn = [tuple(torch.rand(1, generator=stream).item() for stream in random_streams(seed)) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1]
    assert len({*drawn[0], *drawn[2]}) == 6


def test_a_state_with_the_wanted_parts_and_name_is_taken():
    refuse_other_state({"name": "mine", "weights": 1}, "mine", ("name", "weights"))


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({}, r"has \[\], wanted is \['name', 'weights'\]"),
        ({"name": "mine", "weights": 1, "more": 2}, "'more'"),
        ({"name": "other", "weights": 1}, "is of 'other', this learner is 'mine'"),
    ],
)
def test_a_state_of_another_learner_is_refused_with_the_difference(state, reason):
    with pytest.raises(BadInput, match=reason):
        refuse_other_state(state, "mine", ("name", "weights"))
