"""The connection to Meta: every request has a deadline and a rate limit, and reads are retried with jitter."""

import random
import time
from collections.abc import Callable, Mapping
from typing import Any

from facebook_business.api import FacebookAdsApi, FacebookResponse
from facebook_business.session import FacebookSession

from gaelp.config.connection_fields import secret_text
from gaelp.config.meta_ads_settings import MetaAdsSettings
from gaelp.errors import ConfigError
from gaelp.observability.redact import register_secrets
from gaelp.platforms.meta_ads.call_errors import ERRORS, BadAnswer
from gaelp.platforms.paced_calls import PacedCalls
from gaelp.platforms.sandbox_identity import SANDBOX_TIME_HEADER

__all__ = ["GraphConnection"]

_VERSION = "v26.0"
_PAGE = 200
_MOST_PAGES = 500


class GraphConnection:
    """One ad account of Meta or of the sandbox; it connects with the first call. Several threads may use it."""

    def __init__(
        self,
        settings: MetaAdsSettings,
        *,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.settings = settings
        self._calls = PacedCalls(settings, ERRORS, sleep=sleep, jitter=jitter)
        self._api = FacebookAdsApi(_session(settings), api_version=_VERSION)

    @property
    def account(self) -> str:
        """The ad account as Meta names it."""
        return f"act_{self.settings.account_id}"

    def read(self, *path: str, fields: str = "", **parameters: Any) -> dict[str, Any]:
        """One object, or one page of a list; retried, because reading twice changes nothing."""
        return self._read(path, {**parameters, **({"fields": fields} if fields else {})})[0]

    def read_all(self, *path: str, fields: str, **parameters: Any) -> list[dict[str, Any]]:
        """Every entry of a list, page by page."""
        asked = {**parameters, "fields": fields, "limit": _PAGE}
        entries: list[dict[str, Any]] = []
        for _ in range(_MOST_PAGES):
            answer, _headers = self._read(path, asked)
            entries += answer["data"]
            paging = answer.get("paging", {})
            if "next" not in paging:
                return entries
            asked["after"] = paging["cursors"]["after"]
        raise BadAnswer(f"/{'/'.join(path)} has more than {_MOST_PAGES} pages of {_PAGE}: archive what is not needed")

    def sandbox_time(self) -> str | None:
        """The time that the server's answers carry; None if they carry none."""
        _answer, headers = self._read((self.account,), {"fields": "id"})
        time_text: str | None = headers.get(SANDBOX_TIME_HEADER)
        return time_text

    def change(self, *path: str, urgent: bool = False, **parameters: Any) -> dict[str, Any]:
        """Create or change an object, once; an error leaves open whether it was. An urgent call skips the limit."""
        return self._call("POST", path, parameters, urgent=urgent)[0]

    def delete(self, node: str) -> None:
        """Delete an object, once."""
        self._call("DELETE", (node,), {})

    def wait(self, attempt: int) -> None:
        """Wait before the next attempt: longer each time, and not in step with other clients."""
        self._calls.wait(attempt)

    def _read(self, path: tuple[str, ...], parameters: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, str]]:
        return self._calls.with_retries(lambda: self._request("GET", path, parameters))

    def _call(
        self, method: str, path: tuple[str, ...], parameters: Mapping[str, Any], *, urgent: bool = False
    ) -> tuple[dict[str, Any], Mapping[str, str]]:
        return self._calls.once(lambda: self._request(method, path, parameters), urgent=urgent)

    def _request(
        self, method: str, path: tuple[str, ...], parameters: Mapping[str, Any]
    ) -> tuple[dict[str, Any], Mapping[str, str]]:
        answer: FacebookResponse = self._api.call(method, path, params=dict(parameters))
        body = answer.json()
        if not isinstance(body, dict):
            raise BadAnswer(
                f"{method} /{'/'.join(path)} was answered with {len(answer.body() or '')} characters, no JSON"
            )
        return body, answer.headers()


def _session(settings: MetaAdsSettings) -> FacebookSession:
    """A session with the account's own token; a server that must present the sandbox's certificate gets none."""
    is_sandbox = settings.certificate is not None
    token = "sandbox" if is_sandbox else secret_text(settings.access_token)
    secret = None if is_sandbox else secret_text(settings.app_secret)
    kind = type("GraphSession", (FacebookSession,), {"GRAPH": f"https://{settings.endpoint}"})
    session: FacebookSession = kind(None, secret, token, timeout=settings.deadline_seconds)
    if secret:
        register_secrets([token, secret, session.appsecret_proof])  # the proof is in every address, like the token
    if settings.certificate is not None:
        if not settings.certificate.is_file():
            raise ConfigError(
                f"platform.meta_ads.certificate: {settings.certificate} is not a file: start the sandbox"
                " (`gaelp sandbox start`), or name its certificate.pem"
            )
        session.requests.verify = str(settings.certificate)
        session.requests.trust_env = False  # otherwise REQUESTS_CA_BUNDLE would replace the certificate
    return session
