"""The home's own Prefect server: where it listens, how it is started, kept alive and stopped."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil

from flows.connection import answers, is_own, port_of
from flows.environment import for_client, for_server, for_terminal, prefect_home, settle
from flows.home_secret import password
from flows.server_record import ServerProcess, forget_server, record_server, server
from gaelp.cli.output import say
from gaelp.config.loopback import is_loopback
from gaelp.errors import BadInput, GaelpError
from gaelp.observability.logs import get_logger

__all__ = ["Server", "choose_api_url", "running_server", "terminal_server"]

_DEFAULT_PORT = 4200
_START_S = 180
_STOP_S = 20
_LOOK_EVERY_S = 2.0
_LOG_LINES = 12


def choose_api_url(home: Path, environ: Mapping[str, str], port: int | None) -> str:
    """Where `gaelp up` serves: PREFECT_API_URL, the server this home has left running, the port, or a free one."""
    if named := environ.get("PREFECT_API_URL"):
        return named
    if left := server(home):
        return left.api_url
    if port is not None and not _is_free(port):
        raise BadInput(
            f"port {port} is in use, by a server of another home or another program: choose another, or leave --port"
            " out to have a free one chosen"
        )
    return _local_url(port or _default_or_free_port())


@contextmanager
def running_server(api_url: str, home: Path, environ: MutableMapping[str, str]) -> Iterator[bool]:
    """A server at this address while inside, with the environment set for its clients; True if it is the home's own.

    Only the home's own is started, kept alive and stopped. A shared one is used with the user's own password.
    """
    own = Server(api_url, home, log=prefect_home(home) / "server.log")
    left = server(home)
    if left and left.api_url != api_url:
        Server(left.api_url, home, own.log).stop()
    if environ.get("PREFECT_API_URL") == api_url and answers(api_url) and not is_own(api_url, home):
        settle(environ, for_client(home, api_url, None))
        _check_shared(api_url, environ)
        yield False
        return
    host = urlsplit(api_url).hostname or ""
    if not is_loopback(host):
        raise GaelpError(
            f"no Prefect server answers at {api_url}: start it there, or unset PREFECT_API_URL to have one started on"
            " this machine"
        )
    settle(environ, for_client(home, api_url, password(home)))
    try:
        own.start(environ)
        own.wait()
        with own.kept_alive(environ):
            yield True
    finally:
        own.stop()


@contextmanager
def terminal_server(home: Path, environ: MutableMapping[str, str]) -> Iterator["Server"]:
    """A server for one run in this terminal, on a free port; it ends with this process even if that is killed.

    It may still be starting: `wait` for it after importing the flow, which takes seconds too.
    """
    api_url = _local_url(_free_port())
    settle(environ, for_client(home, api_url, password(home)) | for_terminal(home))
    own = Server(api_url, home, log=prefect_home(home) / "terminal-server.log", for_one_run=True)
    own.start(environ)
    try:
        yield own
    finally:
        own.stop()


@dataclass
class Server:
    """One server process of a home; the one of `gaelp up` is recorded, so that the next one can take it over."""

    api_url: str
    home: Path
    log: Path
    for_one_run: bool = False
    _started: ServerProcess | None = None
    _stopping: threading.Event = field(default_factory=threading.Event)

    def start(self, environ: Mapping[str, str]) -> None:
        """Start the process unless it runs."""
        if self._process() is not None:
            return
        address = urlsplit(self.api_url)
        command = [sys.executable, "-m", "flows.guarded_server"]
        command += ["--host", address.hostname or "127.0.0.1", "--port", str(port_of(self.api_url))]
        settings = {**environ, **for_server(self.api_url, password(self.home))}
        if self.for_one_run:
            command += ["--parent", str(os.getpid())]
            settings |= {"PREFECT__SERVER_EPHEMERAL": "1", "PREFECT_SERVER_UI_ENABLED": "false"}
        with self.log.open("ab") as log:
            # In a session of its own: Ctrl-C in the terminal is for us, and we stop the server after the runs.
            child = subprocess.Popen(command, env=settings, stdout=log, stderr=log, start_new_session=True)
        threading.Thread(target=child.wait, daemon=True).start()  # a child nobody waits for stays as a zombie
        self._started = ServerProcess.of(child.pid, self.api_url)
        if not self.for_one_run:
            record_server(self.home, self._started)

    def wait(self) -> None:
        """Wait until the server answers and proves to be the home's own."""
        begun = time.monotonic()
        while not is_own(self.api_url, self.home):
            if self._process() is None or time.monotonic() - begun > _START_S:
                tail = "\n  ".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_LINES:])
                raise GaelpError(
                    f"the Prefect server did not start at {self.api_url}; {self.log} ends with\n  {tail}\n"
                    "If another program uses the port, `gaelp up --port 4300` takes another"
                )
            if self._stopping.wait(0.3):
                return

    @contextmanager
    def kept_alive(self, environ: Mapping[str, str]) -> Iterator[None]:
        """Start it again whenever it dies; runs continue or are resumed, nothing of theirs is kept in its memory."""

        def keep() -> None:
            while not self._stopping.wait(_LOOK_EVERY_S):
                if self._process() is None:
                    get_logger(__name__).warning("the Prefect server is gone; it is started again")
                    self.start(environ)
                    self.wait()

        watch = threading.Thread(target=keep, daemon=True)
        watch.start()
        try:
            yield
        finally:
            self._stopping.set()
            watch.join(_START_S)

    def stop(self) -> None:
        """Ask it to end, and kill it if it does not."""
        process = self._process()
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_STOP_S)
        except psutil.TimeoutExpired:
            process.kill()
        if not self.for_one_run:
            forget_server(self.home)

    def _process(self) -> psutil.Process | None:
        started = self._started if self.for_one_run else server(self.home)
        return started.process() if started and started.api_url == self.api_url else None


def _check_shared(api_url: str, environ: Mapping[str, str]) -> None:
    """Refuse a shared server whose password is missing here; warn of one that has none."""
    if httpx.get(f"{api_url}/admin/version", timeout=10).status_code == httpx.codes.OK:
        get_logger(__name__).warning(
            "the Prefect server asks for no password: whoever reaches it can run code on this machine", server=api_url
        )
    elif not environ.get("PREFECT_API_AUTH_STRING") and not environ.get("PREFECT_API_KEY"):
        raise BadInput(
            f"the Prefect server at {api_url} is not this home's own and asks for a password: set"
            " PREFECT_API_AUTH_STRING to it, or unset PREFECT_API_URL to have a server started for this home"
        )


def _local_url(port: int) -> str:
    return f"http://127.0.0.1:{port}/api"


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _default_or_free_port() -> int:
    if _is_free(_DEFAULT_PORT):
        return _DEFAULT_PORT
    chosen = _free_port()
    say(f"port {_DEFAULT_PORT} is in use, by another home or another program: the Prefect server takes port {chosen}")
    return chosen


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
