import pytest
from pydantic import ValidationError

from gaelp.agents.schedules import Constant, Linear
from gaelp.agents.value_based_config import Priorities, ValueBasedConfig


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": Constant(start=1.5)}, r"epsilon reaches 1.5, allowed is 0..1"),
        ({"epsilon": Linear(start=1.0, end=-0.1)}, r"epsilon reaches -0.1"),
        ({"learning_rate": Linear(start=1e-3, end=-1e-3)}, r"learning_rate reaches -0.001"),
        ({"learning_starts": 200, "replay_capacity": 100}, "learning would never start"),
        ({"reward_range": (1.0, -1.0)}, r"reward_range=\(1.0, -1.0\) is empty"),
        ({"gamma": 1.1}, "gamma"),
        ({"target_rate": 0.0}, "target_rate"),
        ({"n_steps": 3}, "n_steps"),
        ({"max_gradient_norm": float("nan")}, "max_gradient_norm"),
        ({"priorities": {"alpha": 2.0}}, "alpha"),
    ],
)
def test_a_setting_that_cannot_work_is_refused(changes, message):
    with pytest.raises(ValidationError, match=message):
        ValueBasedConfig(**changes)


def test_settings_come_back_from_their_own_json():
    config = ValueBasedConfig(priorities=Priorities(), epsilon=Constant(start=0.1), reward_range=(0.0, 1.0))
    assert ValueBasedConfig.model_validate_json(config.model_dump_json()) == config
