import pytest

from gaelp.agents.ppo import PpoConfig
from gaelp.agents.replay_config import ReplayConfig
from gaelp.agents.scaling import scaled_ppo, scaled_replay, scaled_schedule, shrunk
from gaelp.agents.schedules import ConstantSchedule, LinearSchedule
from gaelp.errors import Refused


def test_a_schedule_is_scaled_at_both_ends():
    assert scaled_schedule(LinearSchedule(start=4.0, end=2.0), 0.5) == LinearSchedule(start=2.0, end=1.0)
    assert scaled_schedule(ConstantSchedule(start=4.0), 0.5) == ConstantSchedule(start=2.0)


def test_half_a_minibatch_means_twice_as_many_for_ppo_and_half_the_rows_for_replay():
    assert scaled_ppo(PpoConfig(minibatches=4), learning_rate=1, minibatch=0.5).minibatches == 8
    assert scaled_replay(ReplayConfig(batch_size=64), learning_rate=1, minibatch=0.5).batch_size == 32


def test_a_minibatch_that_cannot_shrink_is_refused():
    with pytest.raises(Refused, match=r"batch_size=2 cannot shrink to 0\.25 of it"):
        shrunk(2, 0.25)
