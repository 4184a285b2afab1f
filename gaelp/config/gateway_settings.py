"""The settings of the gateway: where it listens, who may ask, and how much it takes."""

from typing import Self

from pydantic import ConfigDict, Field, PositiveFloat, PositiveInt, SecretStr, model_validator

from gaelp.config.base import Frozen
from gaelp.config.loopback import is_loopback
from gaelp.config.names import Text

__all__ = ["GatewaySettings"]


class GatewaySettings(Frozen):
    """Where the gateway listens and its limits; the tokens come from the environment alone."""

    model_config = ConfigDict(hide_input_in_errors=True)

    host: Text = "127.0.0.1"
    port: int = Field(default=4290, ge=1, le=65535)
    token: SecretStr | None = Field(default=None, description="of callers; needed beyond this machine")
    admin_token: SecretStr | None = Field(default=None, description="of those who move traffic; else the same token")
    max_campaigns: int = Field(default=20_000, ge=1, le=1_000_000, description="that are remembered")
    max_batch: int = Field(default=2_000, ge=1, le=100_000, description="campaigns in one request")
    max_waiting: int = Field(default=10_000, ge=1, description="campaigns that wait for a decision; more are refused")
    max_body_bytes: PositiveInt = 8_000_000
    max_versions: int = Field(default=6, ge=2, le=50, description="loaded at the same time")
    requests_per_s: PositiveFloat = 20_000.0
    shadow_rows: int = Field(default=1_000_000, ge=0, description="of shadow decisions that are recorded")

    @model_validator(mode="after")
    def _strangers_need_a_token(self) -> Self:
        if self.token is None and not is_loopback(self.host):
            raise ValueError(
                f"host={self.host} is reached from other machines: set GAELP__GATEWAY__TOKEN, or listen on 127.0.0.1"
            )
        return self
