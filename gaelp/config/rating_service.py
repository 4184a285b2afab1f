"""The service that may rate creatives for personas: where it is and how much it may be asked."""

from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, PositiveInt, SecretStr, field_validator

from gaelp.config.base import Frozen

__all__ = ["RatingService"]


class RatingService(Frozen):
    """An OpenAI-compatible endpoint that rates creatives for personas, and how much it may be asked."""

    model_config = ConfigDict(hide_input_in_errors=True)

    endpoint: str = Field(
        description="address to which /chat/completions is appended, such as http://127.0.0.1:8000/v1"
    )
    model: str = Field(min_length=1)
    api_key: SecretStr | None = None
    timeout_seconds: float = Field(default=60.0, gt=0, le=600)
    retries: int = Field(default=4, ge=0, le=20, description="further attempts for one persona after the first")
    requests_max: PositiveInt = Field(default=200, description="requests of one run, retries included")

    @field_validator("endpoint")
    @classmethod
    def _is_a_plain_address(cls, endpoint: str) -> str:
        parts = urlsplit(endpoint)
        # Reading the port checks it: out of range is a ValueError.
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            raise ValueError("the endpoint must look like https://host/v1: scheme http or https, then a host")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("the endpoint must hold no user, password, query or fragment: give the key as api_key")
        return endpoint.rstrip("/")

    @field_validator("api_key")
    @classmethod
    def _fits_a_header(cls, api_key: SecretStr | None) -> SecretStr | None:
        # A key read from a file ends in a newline; anything else odd would be quoted by the HTTP library's error.
        key = api_key.get_secret_value().strip() if api_key else ""
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ValueError("the key (not shown) must be printable ASCII without spaces: copy it again")
        return SecretStr(key) if key else None
