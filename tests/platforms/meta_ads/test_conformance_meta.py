"""The Meta Ads connector keeps the contract of a platform, on the official client over HTTPS."""

import pytest

from gaelp.platforms.conformance import PlatformConformance


class TestMetaAds(PlatformConformance):
    @pytest.fixture(autouse=True)
    def _sandbox(self, sandbox):
        self.sandbox = sandbox

    def make(self):
        return self.sandbox.connect()

    def disconnected(self):
        return self.sandbox.connect(endpoint="localhost:1", deadline_seconds=0.5)
