"""The settings of the Meta Ads connector: which ad account, at which server, how patiently, and its secrets."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import ConfigDict, Field, PositiveFloat, SecretStr, model_validator

from gaelp.config.base import Frozen

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
    endpoint: str = Field(
        default="graph.facebook.com", pattern=r"^[A-Za-z0-9.\-]+(:\d{1,5})?$", description="host, or host:port"
    )
    certificate: Path | None = Field(default=None, description="of the sandbox (certificate.pem in its folder)")
    deadline_seconds: PositiveFloat = Field(
        default=15.0, le=300, description="for one call; a retried one takes longer"
    )
    calls_per_second: PositiveFloat = Field(default=10.0, le=1000, description="pauses are never held back")
    access_token: SecretStr | None = None
    app_secret: SecretStr | None = None

    @model_validator(mode="after")
    def _has_credentials(self) -> Self:
        missing = [name for name in _SECRETS if getattr(self, name) is None]
        if self.certificate is None and missing:
            names = ", ".join(f"GAELP__PLATFORM__META_ADS__{name.upper()}" for name in missing)
            raise ValueError(f"without a certificate of the sandbox, Meta's own servers are asked: set {names}")
        return self
