"""Connectors refuse to ask a platform's own servers without their secrets; the sandbox needs none."""

from types import SimpleNamespace

import pytest
from pydantic import SecretStr

from gaelp.config.connection_fields import check_secrets, secret_text

NAMES = ("token", "key")


def test_every_missing_secret_is_named_by_its_variable():
    settings = SimpleNamespace(certificate=None, token=None, key=None)
    with pytest.raises(ValueError, match="GAELP__PLATFORM__BING_ADS__TOKEN, GAELP__PLATFORM__BING_ADS__KEY"):
        check_secrets(settings, NAMES, owner="Bing", section="bing_ads")


@pytest.mark.parametrize(("certificate", "secret"), [("certificate.pem", None), (None, SecretStr("hidden"))])
def test_a_certificate_or_all_secrets_are_enough(certificate, secret):
    settings = SimpleNamespace(certificate=certificate, token=secret, key=secret)
    check_secrets(settings, NAMES, owner="Bing", section="bing_ads")


def test_a_secret_that_is_not_set_is_empty():
    assert [secret_text(each) for each in (None, SecretStr("hidden"))] == ["", "hidden"]
