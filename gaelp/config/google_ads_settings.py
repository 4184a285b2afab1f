"""The settings of the Google Ads connector: which account, at which server, how patiently, and its secrets."""

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

__all__ = ["GoogleAdsSettings"]

CustomerId = Annotated[str, Field(pattern=r"^\d{10}$", description="ten digits, without dashes")]
_SECRETS = ("developer_token", "client_id", "client_secret", "refresh_token")


class GoogleAdsSettings(Frozen):
    """Which Google Ads account is used, and how; the four secrets come from the environment alone.

    With `certificate`, the server must present exactly this certificate, and no secret is sent: it is the sandbox.
    """

    model_config = ConfigDict(hide_input_in_errors=True)

    customer_id: CustomerId
    login_customer_id: CustomerId | None = Field(default=None, description="the manager account that grants access")
    endpoint: Endpoint = "googleads.googleapis.com"
    certificate: SandboxCertificate = None
    deadline_seconds: DeadlineSeconds = 15.0
    calls_per_second: CallsPerSecond = 10.0
    developer_token: SecretStr | None = None
    client_id: SecretStr | None = None
    client_secret: SecretStr | None = None
    refresh_token: SecretStr | None = None

    @model_validator(mode="after")
    def _has_credentials(self) -> Self:
        check_secrets(self, _SECRETS, owner="Google", section="google_ads")
        return self
