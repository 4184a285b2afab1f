"""A request to the Graph API, from HTTP or from inside a batch, and its answer."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from gaelp.sandbox.meta.graph_error import INVALID_TOKEN, GraphError

__all__ = ["GraphAnswer", "GraphRequest", "read_request"]

_VERSION = re.compile(r"v\d+\.\d+\Z")
_VERSIONS = ("v24.0", "v25.0", "v26.0")
_CREDENTIALS = ("access_token", "appsecret_proof")
_METHODS = ("GET", "POST", "DELETE")


@dataclass(frozen=True, slots=True)
class GraphRequest:
    """Method, path without the version, and parameters without credentials."""

    method: str
    path: tuple[str, ...]
    parameters: Mapping[str, str]
    base: str = ""  # scheme, host and version, for the addresses of other pages
    time_stamp: str | None = None
    application: int = 0  # the app that the token belongs to

    @property
    def name(self) -> str:
        """What faults and traces call it, such as `POST /act_1/campaigns`."""
        return f"{self.method} /{'/'.join(self.path)}"

    def inside(self, method: str, relative_url: str, body: str) -> "GraphRequest":
        """A request of a batch that this request carries."""
        parts = urlsplit(relative_url)
        _, path = _split(parts.path)
        parameters = _parameters(parts.query) | _parameters(body)
        return replace(self, method=_method(method), path=path, parameters=_without_credentials(parameters))


@dataclass(frozen=True, slots=True)
class GraphAnswer:
    """HTTP status, JSON body, and headers beyond the usual."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """The body as it is sent."""
        return json.dumps(self.body, separators=(",", ":"))


def read_request(method: str, url: str, body: str, *, time_stamp: str | None = None) -> GraphRequest:
    """Read a request over HTTP; GraphError if its version or its token is missing or wrong."""
    parts = urlsplit(url)
    parameters = _parameters(parts.query) | (_parameters(body) if method == "POST" else {})
    version, path = _split(parts.path)
    if version and version not in _VERSIONS:
        raise GraphError(
            f"You are calling an unsupported version of the Ads API: {version}; use {_VERSIONS[-1]}", code=2635
        )
    if not parameters.get("access_token", "").strip():
        raise GraphError("An access token is required to request this resource.", code=104, status=400)
    if "\n" in parameters["access_token"] or len(parameters["access_token"]) > 1000:
        raise GraphError("Invalid OAuth access token - Cannot parse access token", code=INVALID_TOKEN, status=401)
    base = f"{parts.scheme}://{parts.netloc}/{version or _VERSIONS[-1]}"
    application = _application(parameters["access_token"])
    return GraphRequest(_method(method), path, _without_credentials(parameters), base, time_stamp, application)


def _application(token: str) -> int:
    """The app of a token; in the sandbox each token is of an app of its own."""
    return int.from_bytes(hashlib.blake2b(token.encode(), digest_size=6).digest(), "big")


def _split(path: str) -> tuple[str, tuple[str, ...]]:
    """The version, if there is one, and the rest."""
    pieces = [piece for piece in path.split("/") if piece]
    return (pieces[0], tuple(pieces[1:])) if pieces and _VERSION.match(pieces[0]) else ("", tuple(pieces))


def _parameters(text: str) -> dict[str, str]:
    return dict(parse_qsl(text, keep_blank_values=True))


def _without_credentials(parameters: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in parameters.items() if name not in _CREDENTIALS}


def _method(name: str) -> str:
    if name.upper() not in _METHODS:
        raise GraphError(f"Unsupported method {name[:20]!r}; allowed: {', '.join(_METHODS)}")
    return name.upper()
