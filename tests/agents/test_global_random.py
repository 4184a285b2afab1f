import numpy as np
import pytest
import torch

from gaelp.agents.global_random import OwnRandom
from gaelp.errors import BadInput


def draw():
    return torch.rand(1).item(), np.random.rand()  # noqa: NPY002 - the global generator is under test


def test_blocks_continue_each_other_and_leave_the_global_generators_alone():
    torch.manual_seed(1), np.random.seed(1)  # noqa: NPY002 - the global generator is under test
    outside = [draw() for _ in range(2)]
    torch.manual_seed(1), np.random.seed(1)  # noqa: NPY002 - the global generator is under test
    own, drawn = OwnRandom(5), []
    for wanted in outside:
        with own:
            drawn.append(draw())
        assert draw() == wanted
    with OwnRandom(5):
        assert [draw(), draw()] == drawn


def test_a_saved_state_continues_bit_for_bit_and_a_damaged_one_is_refused():
    own, restored = OwnRandom(5), OwnRandom(6)
    restored.load_state(own.state())
    with own:
        wanted = draw()
    with restored:
        assert draw() == wanted
    with pytest.raises(BadInput, match="beyond 32 bits"):
        restored.load_state(own.state() | {"numpy_key": torch.full((624,), 2**32)})
