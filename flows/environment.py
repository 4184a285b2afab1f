"""What Prefect is told through the environment, before it is imported: where it keeps things, and to stay quiet."""

from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from pathlib import Path

import psutil

from gaelp.config.places import absolute, repository_root

__all__ = ["DEFAULT_API_URL", "for_server", "for_terminal", "prefect_home", "settle", "stop_orphans"]

DEFAULT_API_URL = "http://127.0.0.1:4200/api"
_EPHEMERAL_START_S = 120
_HEARTBEAT_S = 30


def prefect_home(home: Path) -> Path:
    """Where Prefect keeps its database and results: below the home, like everything a run writes."""
    return absolute(home) / "prefect"


def _always(home: Path) -> dict[str, str]:
    return {
        "PREFECT_HOME": str(prefect_home(home)),
        "GAELP_HOME": str(absolute(home)),  # a flow may be started from another folder
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_RESULTS_DEFAULT_SERIALIZER": "json",
        "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "true",
        "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(_HEARTBEAT_S),
        "PYTHONPATH": str(repository_root()),
    }


def for_terminal(home: Path) -> dict[str, str]:
    """For a flow in this terminal: a server of its own that ends with it, with a database apart from the shared one."""
    return _always(home) | {
        "PREFECT_API_URL": "",
        "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "true",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": str(_EPHEMERAL_START_S),
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{prefect_home(home) / 'terminal.db'}",
        "PREFECT_LOGGING_LEVEL": "CRITICAL",  # what goes wrong is told by us, in one line
    }


def for_server(home: Path, api_url: str) -> dict[str, str]:
    """For whatever speaks to a server that others use too."""
    return _always(home) | {"PREFECT_API_URL": api_url}


def settle(environ: MutableMapping[str, str], values: Mapping[str, str]) -> None:
    """Put the values into an environment; what the user set there on purpose stays, but for where things are."""
    Path(values["PREFECT_HOME"]).mkdir(parents=True, exist_ok=True)
    for name, value in values.items():
        if name == "PREFECT_API_URL" and not value:
            environ.pop(name, None)
        elif name in {"PREFECT_API_URL", "PREFECT_HOME", "GAELP_HOME"}:
            environ[name] = value
        else:
            environ.setdefault(name, value)


def stop_orphans(home: Path) -> None:
    """Stop servers of terminals that were killed: their parent is gone, and nobody else uses them."""
    ours = for_terminal(home)["PREFECT_SERVER_DATABASE_CONNECTION_URL"]
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            orphan = process.ppid() == 1 and any("prefect.server" in word for word in process.cmdline())
            if orphan and process.environ().get("PREFECT_SERVER_DATABASE_CONNECTION_URL") == ours:
                process.terminate()
