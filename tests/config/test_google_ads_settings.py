"""The settings of the Google Ads connector: all secrets from the environment, and none for the sandbox."""

import pytest

from gaelp.config import load_settings
from gaelp.errors import ConfigError

CUSTOMER = "platform.google_ads.customer_id=1234567890"
NAMES = ("DEVELOPER_TOKEN", "CLIENT_ID", "CLIENT_SECRET", "REFRESH_TOKEN")
SECRETS = {f"GAELP__PLATFORM__GOOGLE_ADS__{name}": f"planted-{name}" for name in NAMES}


def loaded(*overrides, environ=None):
    return load_settings(None, overrides=overrides, environ=environ or {}).settings.platform.google_ads


def test_the_real_platform_needs_every_secret_and_none_is_shown():
    settings = loaded(CUSTOMER, environ=SECRETS)
    assert settings.endpoint == "googleads.googleapis.com"
    assert settings.refresh_token.get_secret_value() == "planted-REFRESH_TOKEN"
    assert "planted" not in repr(settings)
    for name in SECRETS:
        with pytest.raises(ConfigError, match=name) as caught:
            loaded(CUSTOMER, environ={key: value for key, value in SECRETS.items() if key != name})
        assert "planted" not in str(caught.value)


def test_the_sandbox_needs_none():
    assert loaded(CUSTOMER, "platform.google_ads.certificate=/home/x/certificate.pem").refresh_token is None


@pytest.mark.parametrize(
    "wrong",
    [
        "customer_id=123-456-7890",
        "customer_id=12",
        "endpoint=https://x.example",
        "calls_per_second=0",
        "deadline_seconds=0",
    ],
)
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(ConfigError, match="google_ads"):
        loaded(CUSTOMER, f"platform.google_ads.{wrong}", environ=SECRETS)


def test_a_secret_in_a_file_is_refused(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text('platform: {google_ads: {customer_id: "1234567890", refresh_token: planted}}\n')
    with pytest.raises(ConfigError, match="GAELP__PLATFORM__GOOGLE_ADS__REFRESH_TOKEN") as caught:
        load_settings(path, environ={})
    assert "planted" not in str(caught.value)
