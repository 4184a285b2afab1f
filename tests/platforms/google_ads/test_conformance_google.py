"""The Google Ads connector keeps the contract of a platform, on the official client over TLS gRPC."""

import pytest

from gaelp.platforms.conformance import ExperimentConformance, PlatformConformance


class TestGoogleAds(PlatformConformance, ExperimentConformance):
    @pytest.fixture(autouse=True)
    def _sandbox(self, sandbox):
        self.sandbox = sandbox

    def make(self):
        return self.sandbox.connect()

    def disconnected(self):
        return self.sandbox.connect(endpoint="localhost:1", deadline_seconds=0.5)
