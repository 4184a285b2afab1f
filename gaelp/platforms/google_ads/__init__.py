"""Google Ads as an ad platform of GAELP, on the official client."""

from gaelp.platforms.google_ads.connector import GoogleAds, connect

__all__ = ["GoogleAds", "connect"]
