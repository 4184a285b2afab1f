"""What all learners that replay are configured with, and what each family adds."""

import pytest
from pydantic import ValidationError

from gaelp.agents.replay_config import OffPolicyConfig, Priorities, ReplayConfig, ValueBasedConfig
from gaelp.agents.schedules import ConstantSchedule, LinearSchedule
from gaelp.agents.td3 import Td3Config


@pytest.mark.parametrize("config", [OffPolicyConfig(), ValueBasedConfig()])
def test_the_defaults_hold(config):
    assert config.learning_starts >= config.batch_size


@pytest.mark.parametrize("kind", [OffPolicyConfig, ValueBasedConfig])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_starts": 11, "replay_capacity": 10}, "learning would never start"),
        ({"reward_range": (1.0, -1.0)}, r"reward_range=\(1.0, -1.0\) is empty: give the lower end first"),
        ({"learning_rate": {"kind": "linear", "start": 1e-3, "end": -1e-3}}, "learning_rate reaches -0.001"),
        ({"gamma": 1.1}, "gamma"),
        ({"target_rate": 0.0}, "target_rate"),
        ({"n_step": 0}, "n_step"),
        ({"train_every": 0}, "train_every"),
        ({"gradient_steps": 0}, "gradient_steps"),
        ({"max_gradient_norm": 0.0}, "max_gradient_norm"),
        ({"max_gradient_norm": float("nan")}, "max_gradient_norm"),
        ({"priorities": {"alpha": 2.0}}, "alpha"),
        ({"on_refused": "ignore"}, "on_refused"),
        ({"batchsize": 3}, "batchsize"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_by_name(kind, settings, message):
    with pytest.raises(ValidationError, match=message):
        kind(**settings)


@pytest.mark.parametrize(
    ("epsilon", "message"),
    [
        (ConstantSchedule(start=1.5), r"epsilon reaches 1.5, allowed is 0..1"),
        (LinearSchedule(start=1.0, end=-0.1), r"epsilon reaches -0.1"),
    ],
)
def test_exploration_is_a_share_of_the_actions(epsilon, message):
    with pytest.raises(ValidationError, match=message):
        ValueBasedConfig(epsilon=epsilon)


def test_a_schedule_that_only_one_algorithm_has_is_checked_too():
    with pytest.raises(ValidationError, match=r"exploration_noise reaches -0.1, allowed is 0 and above"):
        Td3Config(exploration_noise=ConstantSchedule(start=-0.1))


def test_settings_come_back_from_their_own_json():
    config = ValueBasedConfig(priorities=Priorities(), epsilon=ConstantSchedule(start=0.1), reward_range=(0.0, 1.0))
    assert ValueBasedConfig.model_validate_json(config.model_dump_json()) == config


def test_every_family_has_the_settings_that_replay_needs():
    for family in (OffPolicyConfig, ValueBasedConfig):
        assert family.model_fields.keys() > ReplayConfig.model_fields.keys()
