"""The batched ad market the agent trains in, its personas, calibration, replay and baseline bidders."""

from gaelp.market.registration import ENVIRONMENT_ID

__all__ = ["ENVIRONMENT_ID"]
