import math

import pytest
import torch

from gaelp.errors import BadInput
from gaelp.experience.saved import below, expect_same, integer_of, number_of, prefixed, tensor_of, text_of


def test_the_state_of_a_part_goes_into_the_whole_and_comes_out_again():
    part = {"count": 3, "inner.mean": 0.5}
    whole = {"count": 7, "partial": 1} | prefixed("part", part)
    assert below("part", whole) == part


def test_values_come_back_as_they_were_saved():
    state = {"rows": 3, "share": 0.1, "name": "x", "mean": torch.zeros(2)}
    assert (integer_of(state, "rows"), number_of(state, "share"), text_of(state, "name")) == (3, 0.1, "x")
    assert tensor_of(state, "mean", torch.ones(2)) is state["mean"]


@pytest.mark.parametrize(
    ("read", "seen"),
    [
        (lambda state: integer_of(state, "gone"), "no 'gone'; it has mean, rows, share"),
        (lambda state: integer_of(state, "share"), "saved share is 0.1, wanted is an integer"),
        (lambda state: integer_of(state, "rows", at_most=2), r"saved rows is 3, wanted is an integer in 0\.\.2"),
        (lambda state: number_of(state, "mean"), "saved mean is tensor.*wanted is a number"),
        (lambda state: text_of(state, "rows"), "saved rows is 3, wanted is a string"),
        (lambda state: tensor_of(state, "mean", torch.zeros(3)), r"float32 \(2,\), wanted is torch.float32 \(3,\)"),
        (lambda state: tensor_of(state, "mean", torch.zeros(2).double()), "wanted is torch.float64"),
        (lambda state: tensor_of(state, "rows", torch.zeros(2)), "saved rows is 3"),
        (lambda state: expect_same(state, rows=4), r"saved rows is 3\.0, here it is 4"),
        (lambda state: expect_same(state, rows=math.nan), "here it is nan"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(read, seen):
    with pytest.raises(BadInput, match=seen):
        read({"rows": 3, "share": 0.1, "mean": torch.zeros(2)})
