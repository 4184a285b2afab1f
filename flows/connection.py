"""Which Prefect server the runs of a home are on, and the proof that a server is the home's own."""

import hmac
import secrets
from collections.abc import MutableMapping
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from flows.environment import for_client, settle
from flows.home_secret import password, proof
from flows.server_record import known_api_url
from gaelp.errors import GaelpError

__all__ = ["ERROR_MESSAGE", "PROOF_PATH", "NoServer", "answers", "connect", "is_own", "port_of"]

PROOF_PATH = "/gaelp/proof"
ERROR_MESSAGE = "errorMessage"  # of a form's field: what the home's server says if its pattern does not match
_DEFAULT_PORT = 4200
_TIMEOUT_S = 3


class NoServer(GaelpError):
    """No server that this home could use answers."""


def connect(home: Path, environ: MutableMapping[str, str]) -> None:
    """Point Prefect's client at the server of this home's runs: the one in PREFECT_API_URL, or the home's own.

    The home's password is only sent to a server that proved to know it.
    """
    named = environ.get("PREFECT_API_URL")
    api_url = named or known_api_url(home)
    if api_url is None:
        raise NoServer(
            f"no Prefect server of the home {home} is running: start it with `gaelp up`, or set PREFECT_API_URL to the"
            " server that the run is on"
        )
    own = is_own(api_url, home)
    if not own and not (named and answers(named)):
        raise NoServer(f"no Prefect server of the home {home} answers at {api_url}: start it with `gaelp up`")
    settle(environ, for_client(home, api_url, password(home) if own else None))


def answers(api_url: str) -> bool:
    """Whether a Prefect server, of whatever home, answers at this address."""
    try:
        return httpx.get(f"{api_url}/health", timeout=_TIMEOUT_S).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def is_own(api_url: str, home: Path) -> bool:
    """Whether the server at this address knows the home's password; it proves that without being sent the password."""
    challenge = secrets.token_hex(16)
    url = f"{api_url.removesuffix('/api')}{PROOF_PATH}"
    try:
        answer = httpx.get(url, params={"challenge": challenge}, timeout=_TIMEOUT_S)
    except httpx.HTTPError:
        return False
    expected = proof(password(home), challenge, port_of(api_url))
    return hmac.compare_digest(answer.text.encode(), expected.encode())


def port_of(api_url: str) -> int:
    """The port of a server's address."""
    return urlsplit(api_url).port or _DEFAULT_PORT
