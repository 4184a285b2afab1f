"""The Prefect server that deployments live on: found where it answers, started and kept alive where there is none."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil

from flows.environment import prefect_home
from gaelp.config.base import Frozen
from gaelp.config.write import write_models
from gaelp.errors import GaelpError
from gaelp.observability.logs import get_logger

__all__ = ["Server", "answers", "running_server"]

_START_S = 180
_STOP_S = 20
_LOOK_EVERY_S = 2.0
_LOG_LINES = 12


class _Started(Frozen):
    """A server process that was started here; with its time of creation, as process ids are used again."""

    pid: int
    created: float


def answers(api_url: str) -> bool:
    """Whether a Prefect server is there."""
    try:
        return httpx.get(f"{api_url}/health", timeout=3).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


@contextmanager
def running_server(api_url: str, home: Path, environ: Mapping[str, str]) -> Iterator[bool]:
    """A server at this address while inside; tells whether it is ours. Only a server of ours is stopped."""
    server = Server(api_url, home, environ)
    if answers(api_url) and not server.is_ours():
        yield False
        return
    host = urlsplit(api_url).hostname
    if host not in {"127.0.0.1", "localhost", "::1"}:
        raise GaelpError(
            f"no Prefect server answers at {api_url}: start it there, or unset PREFECT_API_URL to have one started on"
            " this machine"
        )
    try:
        server.start()
        with server.kept_alive():
            yield True
    finally:
        server.stop()


class Server:
    """One server process, known by a file: the next `gaelp up` takes over what a killed one left running."""

    def __init__(self, api_url: str, home: Path, environ: Mapping[str, str]) -> None:
        self._api_url = api_url
        self._folder = prefect_home(home)
        self._environ = dict(environ)
        self._stopping = threading.Event()

    def is_ours(self) -> bool:
        """Whether the process that was noted is alive."""
        return self._process() is not None

    def start(self) -> None:
        """Start it unless it runs, and wait until it answers."""
        if self._process() is None:
            address = urlsplit(self._api_url)
            host, port = address.hostname or "127.0.0.1", address.port or 4200
            command = [sys.executable, "-m", "prefect", "server", "start", "--host", host, "--port", str(port)]
            with (self._folder / "server.log").open("ab") as log:
                # In a session of its own: Ctrl-C in the terminal is for us, and we stop the server after the runs.
                process = subprocess.Popen(
                    command, env=self._environ, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
                )
            threading.Thread(target=process.wait, daemon=True).start()  # a child nobody waits for stays as a zombie
            started = _Started(pid=process.pid, created=psutil.Process(process.pid).create_time())
            write_models({self._note: started})
        self._wait()

    @contextmanager
    def kept_alive(self) -> Iterator[None]:
        """Start it again whenever it dies; runs go on or are resumed, nothing of theirs is kept in its memory."""
        watch = threading.Thread(target=self._keep, daemon=True)
        watch.start()
        try:
            yield
        finally:
            self._stopping.set()
            watch.join(_START_S)

    def stop(self) -> None:
        """Ask it to end, and end it if it does not."""
        process = self._process()
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_STOP_S)
        except psutil.TimeoutExpired:
            process.kill()
        self._note.unlink(missing_ok=True)

    @property
    def _note(self) -> Path:
        return self._folder / "server.json"

    def _process(self) -> psutil.Process | None:
        if not self._note.exists():
            return None
        started = _Started.model_validate_json(self._note.read_text(encoding="utf-8"))
        try:
            process = psutil.Process(started.pid)
            alive = process.create_time() == started.created and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return None
        return process if alive else None

    def _keep(self) -> None:
        while not self._stopping.wait(_LOOK_EVERY_S):
            if self._process() is None:
                get_logger(__name__).warning("the Prefect server is gone; it is started again")
                self.start()

    def _wait(self) -> None:
        begun = time.monotonic()
        while not answers(self._api_url):
            if self._process() is None or time.monotonic() - begun > _START_S:
                log = self._folder / "server.log"
                tail = "\n  ".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_LINES:])
                raise GaelpError(
                    f"the Prefect server did not start at {self._api_url}; {log} ends with\n  {tail}\n"
                    "Another program may be using the port: `gaelp up --port 4300` takes another"
                )
            if self._stopping.wait(0.3):
                return
