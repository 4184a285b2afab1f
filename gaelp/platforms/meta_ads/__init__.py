"""Meta Ads as an ad platform of GAELP, on the official client."""

from gaelp.platforms.meta_ads.connector import MetaAds, connect

__all__ = ["MetaAds", "connect"]
