import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gaelp.errors import BadInput
from gaelp.experience.transitions import Batch


def numbered(rows):
    """Rows whose tensors tell their own number."""
    number = torch.arange(rows)
    return Batch({"obs": torch.stack([number, -number], 1).float(), "actions": number})


def split(batch, minibatches, rng):
    return [batch.select(places) for places in batch.shares(minibatches, rng)]


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@settings(max_examples=50, deadline=None)
@given(rows=st.integers(1, 40), data=st.data())
def test_minibatches_hold_every_row_once_and_differ_by_one_row_at_most(rows, data):
    minibatches = data.draw(st.integers(1, rows))
    parts = list(split(numbered(rows), minibatches, generator(rows)))
    assert sorted(torch.cat([part["actions"] for part in parts]).tolist()) == list(range(rows))
    assert len(parts) == minibatches
    assert max(part.rows for part in parts) - min(part.rows for part in parts) <= 1


def test_tensors_of_a_row_stay_together():
    for part in split(numbered(23), 4, generator()):
        assert torch.equal(part["obs"][:, 0].long(), part["actions"])
        assert torch.equal(-part["obs"][:, 1].long(), part["actions"])


def order(seed):
    return torch.cat([part["actions"] for part in split(numbered(50), 5, generator(seed))]).tolist()


def test_the_order_is_shuffled_and_follows_from_the_generator_alone():
    assert order(1) == order(1)
    assert order(1) != order(2)
    assert order(1) != list(range(50))


def test_each_pass_over_the_data_has_an_order_of_its_own():
    rng = generator()
    first, second = (torch.cat([part["actions"] for part in split(numbered(50), 2, rng)]) for _ in range(2))
    assert not torch.equal(first, second)


def test_draws_between_minibatches_do_not_change_the_order():
    rng = generator(1)
    parts = split(numbered(50), 5, rng)
    torch.rand(3, generator=rng)
    assert torch.cat([part["actions"] for part in parts]).tolist() == order(1)


def test_flatten_makes_each_step_of_each_environment_a_row():
    batch = Batch({"obs": torch.arange(24).reshape(3, 4, 2), "rewards": torch.arange(12).reshape(3, 4)}).flatten()
    assert batch.rows == 12
    assert batch["rewards"].tolist() == list(range(12))
    assert batch["obs"][5].tolist() == [10, 11]


def test_flatten_can_make_each_segment_a_row():
    batch = Batch({"obs": torch.zeros(3, 4, 2, 5), "rewards": torch.zeros(3, 4, 2)}).flatten(3)
    assert {name: tuple(tensor.shape) for name, tensor in batch.tensors.items()} == {"obs": (24, 5), "rewards": (24,)}


def test_flatten_refuses_tensors_that_share_fewer_dimensions():
    with pytest.raises(BadInput, match=r"'ended': \(3, 4\)"):
        Batch({"rewards": torch.zeros(3, 4, 2), "ended": torch.zeros(3, 4)}).flatten(3)


def test_a_batch_does_not_change_with_the_dictionary_it_was_made_from():
    tensors = {"obs": torch.zeros(2)}
    batch = Batch(tensors)
    tensors["actions"] = torch.zeros(3)
    assert list(batch.tensors) == ["obs"]
    with pytest.raises(TypeError):
        batch.tensors["obs"] = torch.ones(2)


@pytest.mark.parametrize("tensors", [{}, {"a": torch.zeros(2), "b": torch.zeros(3)}, {"a": torch.tensor(1.0)}])
def test_tensors_without_common_rows_are_refused(tensors):
    with pytest.raises(BadInput):
        Batch(tensors)


def test_a_name_that_is_not_there_is_answered_with_those_that_are():
    with pytest.raises(BadInput, match=r"no 'reward'; it holds obs, actions"):
        numbered(3)["reward"]


@pytest.mark.parametrize("minibatches", [0, 4])
def test_a_split_into_no_or_empty_minibatches_is_refused(minibatches):
    with pytest.raises(BadInput, match=f"minibatches={minibatches} cannot share 3 rows"):
        split(numbered(3), minibatches, generator())
