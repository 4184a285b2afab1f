"""The world of a connector's server: whether it has proven to be the sandbox, and what time it is there."""

from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Protocol

from gaelp.errors import GaelpError
from gaelp.platforms.server_identity import presents_sandbox_certificate

__all__ = ["ServerAddress", "ServerConnection", "ServerWorld"]


class ServerAddress(Protocol):
    """The settings of a connection that say where its server is."""

    @property
    def endpoint(self) -> str:
        """The host, or host:port."""
        ...

    @property
    def certificate(self) -> Path | None:
        """The certificate that the sandbox must present; None for the platform's own servers."""
        ...

    @property
    def deadline_seconds(self) -> float:
        """How long one call may take."""
        ...


class ServerConnection(Protocol):
    """A connection to a server."""

    @property
    def settings(self) -> ServerAddress:
        """Where the server is."""
        ...

    def sandbox_time(self) -> str | None:
        """The time that the server's answers carry; None if they carry none."""
        ...


class ServerWorld:
    """The server of one connection; nothing is sent before the first question."""

    def __init__(self, connection: ServerConnection) -> None:
        self._connection = connection
        self._lock = Lock()
        self._is_proven = False  # True once the server has proven to be the sandbox

    def is_sandbox(self) -> bool:
        """Whether the server has presented the sandbox's certificate; a failed connection is tried again next time."""
        address = self._connection.settings
        with self._lock:
            if not self._is_proven and address.certificate is not None:
                self._is_proven = presents_sandbox_certificate(
                    address.endpoint, address.certificate, address.deadline_seconds
                )
            return self._is_proven

    def now(self) -> datetime:
        """Simulated time if the server is the sandbox, wall time otherwise."""
        if not self.is_sandbox():
            return datetime.now(UTC)
        text = self._connection.sandbox_time()
        if text is None:
            raise GaelpError("the sandbox did not say its time: use the sandbox and the connector of one version")
        return datetime.fromisoformat(text).astimezone(UTC)
