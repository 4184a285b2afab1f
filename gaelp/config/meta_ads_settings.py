"""The settings of the Meta Ads connector: which ad account, at which server, how patiently, and its secrets."""

from typing import Annotated, Self

from pydantic import ConfigDict, Field, SecretStr, model_validator

from gaelp.config.base import Frozen
from gaelp.config.connection_fields import (
    CallsPerSecond,
    DeadlineSeconds,
    Endpoint,
    SandboxCertificate,
    check_secrets,
)

__all__ = ["MetaAdsSettings"]

Digits = Annotated[str, Field(pattern=r"^\d{1,20}$")]
Country = Annotated[str, Field(pattern=r"^[A-Z]{2}$")]
_SECRETS = ("access_token", "app_secret")


class MetaAdsSettings(Frozen):
    """Which ad account of Meta is used, and how; the secrets come from the environment alone.

    With `certificate`, the server must present exactly this certificate, and no secret is sent: it is the sandbox.
    """

    model_config = ConfigDict(hide_input_in_errors=True)

    account_id: Digits = Field(description="what follows act_")
    page_id: Digits = Field(description="the Facebook page that advertises")
    countries: tuple[Country, ...] = Field(default=("US",), min_length=1, description="where new ad sets are shown")
    business_id: Digits | None = Field(default=None, description="whose invoices are read; none: there are none")
    endpoint: Endpoint = "graph.facebook.com"
    certificate: SandboxCertificate = None
    deadline_seconds: DeadlineSeconds = 15.0
    calls_per_second: CallsPerSecond = 10.0
    access_token: SecretStr | None = None
    app_secret: SecretStr | None = None

    @model_validator(mode="after")
    def _has_credentials(self) -> Self:
        check_secrets(self, _SECRETS, owner="Meta", section="meta_ads")
        return self
