import gymnasium as gym

from gaelp.market.env import AdMarketEnv
from gaelp.market.registration import ENVIRONMENT_ID


def test_gymnasium_knows_the_market_by_its_name():
    assert isinstance(gym.make(ENVIRONMENT_ID, market="calm").unwrapped, AdMarketEnv)
