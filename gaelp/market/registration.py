"""Makes the market known to Gymnasium as gaelp/AdMarket-v0; importing gaelp.market is enough."""

import gymnasium as gym

__all__ = ["ENVIRONMENT_ID"]

ENVIRONMENT_ID = "gaelp/AdMarket-v0"

if ENVIRONMENT_ID not in gym.registry:
    gym.register(
        id=ENVIRONMENT_ID,
        entry_point="gaelp.market.env:AdMarketEnv",
        vector_entry_point="gaelp.market.vector_env:AdMarketVectorEnv",
    )
