import pytest
from pydantic import ValidationError

from gaelp.agents.off_policy_config import OffPolicyConfig


def test_the_defaults_hold():
    config = OffPolicyConfig()
    assert config.learning_starts >= config.batch_size


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_starts": 11, "replay_capacity": 10}, "learning would never start"),
        ({"reward_range": (1.0, -1.0)}, "give the lower end first"),
        ({"learning_rate": {"kind": "linear", "start": 1e-3, "end": -1e-3}}, "learning_rate reaches -0.001"),
        ({"gamma": 1.1}, "gamma"),
        ({"target_rate": 0.0}, "target_rate"),
        ({"n_step": 0}, "n_step"),
        ({"train_every": 0}, "train_every"),
        ({"gradient_steps": 0}, "gradient_steps"),
        ({"max_gradient_norm": 0.0}, "max_gradient_norm"),
        ({"on_refused": "ignore"}, "on_refused"),
        ({"batchsize": 3}, "batchsize"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_by_name(settings, message):
    with pytest.raises(ValidationError, match=message):
        OffPolicyConfig(**settings)
