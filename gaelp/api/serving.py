"""Run the HTTP server: until a signal ends it, or beside something else for as long as that lasts."""

import errno
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread

import uvicorn
from pydantic import SecretStr

from gaelp.api.app import create_app
from gaelp.api.prompt_protocol import PromptProtocol
from gaelp.config.loopback import is_loopback
from gaelp.config.settings import ApiSettings, Settings
from gaelp.errors import BadInput, GaelpError

__all__ = ["address", "serve", "serve_app", "serving", "with_free_port"]

_GRACE_SECONDS = 4  # for requests under way when it has to end; the longest wait is for the figures
_LOOK_SECONDS = 1.0
_BACKLOG = 100  # as many are accepted at once, before the oldest can be cut off
_MIN_TOKEN_CHARACTERS = 16


def address(settings: ApiSettings) -> str:
    """Where it is reached, as a URL."""
    return _place_of(settings).url


def with_free_port(settings: ApiSettings) -> ApiSettings:
    """The same if its port can be listened on, with a free port if another program uses it."""
    try:
        _listening_socket(_place_of(settings)).close()
    except BadInput as problem:
        if getattr(problem.__cause__, "errno", None) != errno.EADDRINUSE:
            raise
    else:
        return settings
    with _listening_socket(_place_of(settings.model_copy(update={"port": 0}))) as listener:
        return settings.model_copy(update={"port": listener.getsockname()[1]})


def serve(settings: Settings, *, when_up: Callable[[str], None] = lambda _: None) -> None:
    """Serve until Ctrl-C, which is raised as usual, or SIGTERM, which ends it quietly; only in the main thread."""
    place = settings.api
    serve_app(_config(settings), host=place.host, port=place.port, token=place.token, section="api", when_up=when_up)


def serve_app(
    config: uvicorn.Config,
    *,
    host: str,
    port: int,
    token: SecretStr | None,
    section: str,
    when_up: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve an application as `serve` does; `section` is that of its settings, for messages."""
    place = _Place(host, port, token, section)
    with _ended_by_sigterm() as ended, _running(config, place) as thread:
        when_up(place.url)
        while not ended.wait(_LOOK_SECONDS):
            if not thread.is_alive():
                raise GaelpError("the HTTP server ended by itself: the log above says why. Start it again.")


@contextmanager
def serving(settings: Settings) -> Iterator[str]:
    """Serve in a thread beside the block, whose value is the address."""
    with _running(_config(settings), _place_of(settings.api)):
        yield address(settings.api)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an application listens."""

    host: str
    port: int
    token: SecretStr | None
    section: str

    @property
    def url(self) -> str:
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"


def _place_of(settings: ApiSettings) -> _Place:
    return _Place(settings.host, settings.port, settings.token, "api")


@contextmanager
def _running(config: uvicorn.Config, place: _Place) -> Iterator[Thread]:
    _check_token(place)
    with _listening_socket(place) as listener:
        server = uvicorn.Server(config)
        thread = Thread(target=server.run, args=([listener],), name=f"gaelp-{place.section}-server", daemon=True)
        thread.start()
        while thread.is_alive() and not server.started:
            thread.join(0.01)
        if not server.started:
            raise GaelpError("the HTTP server did not start: the log above says why")
        try:
            yield thread
        finally:
            server.should_exit = True
            thread.join()


def _config(settings: Settings) -> uvicorn.Config:
    """No log setup and no lines per request of its own; who calls is who connects, whatever a header claims."""
    return uvicorn.Config(
        create_app(settings),
        loop="asyncio",
        http=PromptProtocol,
        ws="none",
        backlog=_BACKLOG,
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )


def _check_token(place: _Place) -> None:
    """Where others can try tokens, one that is soon guessed is none."""
    length = len(place.token.get_secret_value()) if place.token else 0
    if length < _MIN_TOKEN_CHARACTERS and not is_loopback(place.host):
        raise BadInput(
            f"the token has {length} characters and {place.section}.host={place.host} is reached from other machines;"
            f" allowed: {_MIN_TOKEN_CHARACTERS} or more. Set a longer GAELP__{place.section.upper()}__TOKEN (`openssl"
            " rand -hex 24` makes one), or listen on 127.0.0.1."
        )


def _listening_socket(place: _Place) -> socket.socket:
    try:
        family, _, _, _, where = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(where[:2], family=family, backlog=_BACKLOG)
    except OSError as problem:
        raise BadInput(
            f"{place.host}:{place.port} cannot be listened on: {problem.strerror or problem}. Choose another with"
            f" `--set {place.section}.port={place.port % 65535 + 1}` or `--set {place.section}.host=127.0.0.1`, or end"
            " what is using it."
        ) from problem


@contextmanager
def _ended_by_sigterm() -> Iterator[Event]:
    """An event that SIGTERM sets; the previous handler is restored afterwards."""
    ended = Event()
    before = signal.signal(signal.SIGTERM, lambda *_: ended.set())
    try:
        yield ended
    finally:
        signal.signal(signal.SIGTERM, before)
