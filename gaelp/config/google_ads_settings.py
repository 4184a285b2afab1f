"""The settings of the Google Ads connector: which account, at which server, how patiently, and its secrets."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import ConfigDict, Field, PositiveFloat, SecretStr, model_validator

from gaelp.config.base import Frozen

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
    endpoint: str = Field(
        default="googleads.googleapis.com", pattern=r"^[A-Za-z0-9.\-]+(:\d{1,5})?$", description="host, or host:port"
    )
    certificate: Path | None = Field(default=None, description="of the sandbox (certificate.pem in its folder)")
    deadline_seconds: PositiveFloat = Field(
        default=15.0, le=300, description="for one call; a retried one takes longer"
    )
    calls_per_second: PositiveFloat = Field(default=10.0, le=1000, description="pauses are never held back")
    developer_token: SecretStr | None = None
    client_id: SecretStr | None = None
    client_secret: SecretStr | None = None
    refresh_token: SecretStr | None = None

    @model_validator(mode="after")
    def _has_credentials(self) -> Self:
        missing = [name for name in _SECRETS if getattr(self, name) is None]
        if self.certificate is None and missing:
            names = ", ".join(f"GAELP__PLATFORM__GOOGLE_ADS__{name.upper()}" for name in missing)
            raise ValueError(f"without a certificate of the sandbox, Google's own servers are asked: set {names}")
        return self
