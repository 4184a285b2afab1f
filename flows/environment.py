"""The settings that Prefect reads from the environment when it is imported: where it keeps things, whom it talks to."""

from collections.abc import Mapping, MutableMapping
from pathlib import Path

from gaelp.config.places import absolute, repository_root
from gaelp.config.private_files import make_private_folder

__all__ = ["for_client", "for_server", "for_terminal", "prefect_home", "settle"]

_HEARTBEAT_S = 30
# A user's own value stays for every other setting.
_FIXED = {
    "GAELP_HOME",
    "PREFECT_API_AUTH_STRING",
    "PREFECT_API_URL",
    "PREFECT_CLIENT_CSRF_SUPPORT_ENABLED",
    "PREFECT_HOME",
    "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE",
}


def prefect_home(home: Path) -> Path:
    """Where Prefect keeps its database and results: below the home, like everything a run writes."""
    return absolute(home) / "prefect"


def for_client(home: Path, api_url: str, password: str | None) -> dict[str, str]:
    """For a client of the server at this address; without a password the user's own setting stays."""
    login = {} if password is None else {"PREFECT_API_AUTH_STRING": password}
    return login | {
        "PREFECT_HOME": str(prefect_home(home)),
        "GAELP_HOME": str(absolute(home)),  # a flow may be started from another folder
        "PREFECT_API_URL": api_url,
        "PREFECT_CLIENT_CSRF_SUPPORT_ENABLED": "true",
        "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false",  # Prefect would start a server that everyone can use
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_RESULTS_DEFAULT_SERIALIZER": "json",
        "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "true",
        "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(_HEARTBEAT_S),
        "PYTHONPATH": str(repository_root()),
    }


def for_server(api_url: str, password: str) -> dict[str, str]:
    """For the server itself: log in first, and no page of another origin may ask."""
    return {
        "PREFECT_SERVER_API_AUTH_STRING": password,
        "PREFECT_SERVER_API_CSRF_PROTECTION_ENABLED": "true",
        "PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS": api_url.removesuffix("/api"),
        "PREFECT_SERVER_UI_API_URL": "/api",  # of the origin that the browser opened: 127.0.0.1, localhost, a tunnel
        # The new UI often shows an error where it should ask for the password, and loads scripts of a tracking service.
        "PREFECT_SERVER_UI_V2_ENABLED": "false",
    }


def for_terminal(home: Path) -> dict[str, str]:
    """For a run in this terminal and its own server, which ends with it: a database apart from the shared one."""
    return {
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{prefect_home(home) / 'terminal.db'}",
        "PREFECT_LOGGING_LEVEL": "CRITICAL",  # failures are reported by us, in one line
    }


def settle(environ: MutableMapping[str, str], values: Mapping[str, str]) -> None:
    """Put the settings into an environment; a user's own value stays unless the setting is fixed."""
    if "PREFECT_HOME" in values:
        make_private_folder(Path(values["PREFECT_HOME"]))
    for name, value in values.items():
        if name in _FIXED:
            environ[name] = value
        else:
            environ.setdefault(name, value)
