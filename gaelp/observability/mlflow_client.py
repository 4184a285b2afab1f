"""MLflow on one SQLite file of a home: its environment, its import, its client, and the lock between processes.

MLflow is imported when it is needed, not before: the import takes about 2 s, its first database another 2 to 5 s.
"""

import fcntl
import logging
import time
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gaelp.errors import BadInput, ComponentMissing, ConfigError

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

__all__ = ["MLFLOW_ENVIRONMENT", "connect_client", "database_file", "import_mlflow", "local_uri", "locked"]

MLFLOW_ENVIRONMENT: Mapping[str, str] = {
    # Read while MLflow is imported: without it, the import writes an installation id to the user's folder.
    "MLFLOW_DISABLE_TELEMETRY": "true",
    # For the libraries below; MLflow itself hears only "true" here.
    "DO_NOT_TRACK": "1",
    # Its lines then take the way of all others: one format, no secrets.
    "MLFLOW_CONFIGURE_LOGGING": "false",
}

_SQLITE = "sqlite:///"
_LOCK_WAIT_S = 30.0


def local_uri(home: Path) -> str:
    """The tracking address of a home folder: one SQLite file in it."""
    return f"{_SQLITE}{home.expanduser().absolute() / 'mlflow.db'}"


def database_file(uri: str) -> Path:
    """The SQLite file of a tracking address; other addresses are refused."""
    path = uri.removeprefix(_SQLITE)
    if path == uri or not path or "?" in path:
        raise ConfigError(f"tracking address {uri!r}: allowed is {_SQLITE}<path of a file> without `?`, see local_uri")
    return Path(path).absolute()


def import_mlflow(environ: MutableMapping[str, str]) -> None:
    """Import MLflow without telemetry; `environ` is the environment of this process, which MLflow reads."""
    environ.update(MLFLOW_ENVIRONMENT)
    try:
        from mlflow.telemetry import get_telemetry_client, set_telemetry_client  # noqa: PLC0415 - slow, see above
    except ImportError as problem:
        raise ComponentMissing(
            f"MLflow cannot be imported: {problem}. Install `mlflow`, or switch tracking off."
        ) from problem
    # Again, in case something else imported MLflow before the environment was set.
    set_telemetry_client()  # type: ignore[no-untyped-call] # MLflow types it not
    if get_telemetry_client() is not None:
        raise BadInput("MLflow's telemetry is still on: `environ` is not the environment of this process; give that")
    # What fails in its database reaches us as an exception and is reported once; it would log each with a traceback.
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)


def connect_client(database: Path) -> "MlflowClient":
    """A client of the runs and the models in a SQLite file; whoever may be the first holds `locked`."""
    from mlflow.tracking import MlflowClient  # noqa: PLC0415 - slow, see above

    address = f"{_SQLITE}{database}"
    return MlflowClient(tracking_uri=address, registry_uri=address)


@contextmanager
def locked(database: Path) -> Iterator[None]:
    """Hold the lock of a database between processes; it is free again when the process ends, however it ends.

    Two processes that start together on a fresh home would both create the tables, and one would fail.
    """
    lock = database.with_suffix(".lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        _take(held.fileno(), lock)
        yield


def _take(descriptor: int, lock: Path) -> None:
    deadline_s = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"{lock} is held by another process for {_LOCK_WAIT_S:g} s") from None
            time.sleep(0.05)
