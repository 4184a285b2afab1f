"""Build a dispatcher from settings: first and second channels, and one memory for all processes."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import SecretStr

from gaelp.clock import Clock
from gaelp.config import known_secrets
from gaelp.config.alert_settings import ChannelSettings
from gaelp.config.places import absolute
from gaelp.config.settings import Settings
from gaelp.database import place_of
from gaelp.observability.alert_channels import EmailChannel, LogChannel, WebhookChannel
from gaelp.observability.alert_memory import FileMemory, SharedMemory
from gaelp.observability.alert_table import TableMemory
from gaelp.observability.alerts import Channel, Dispatcher
from gaelp.observability.redact import register_secrets

__all__ = ["open_dispatcher"]

_FILE_NAME = "alerts.json"


def open_dispatcher(settings: Settings, clock: Clock, *, more: Sequence[Channel] = ()) -> Dispatcher:
    """A dispatcher to the log, the channels of the settings, and `more` of the caller's own.

    Dispatchers of one home, or of one PostgreSQL, share what was sent. From here on no alert holds a known secret:
    an error may name the address of a webhook.
    """
    register_secrets((*known_secrets(), *_secrets(settings.alerts.first), *_secrets(settings.alerts.second)))
    first = [LogChannel(), *_channels(settings.alerts.first, ""), *more]
    return Dispatcher(
        first,
        clock,
        second=[*_channels(settings.alerts.second, "second-")],
        policy=settings.alerts.policy,
        memory=_memory(settings),
    )


def _memory(settings: Settings) -> SharedMemory:
    place, file = place_of(settings, _FILE_NAME), absolute(settings.home) / _FILE_NAME
    return FileMemory(file) if isinstance(place, Path) else TableMemory(place, file)


def _secrets(given: ChannelSettings) -> Iterator[SecretStr]:
    if given.webhook is not None:
        yield given.webhook.url
    if given.email is not None and given.email.password is not None:
        yield given.email.password


def _channels(given: ChannelSettings, prefix: str) -> Iterator[Channel]:
    if given.webhook is not None:
        yield WebhookChannel(given.webhook, name=f"{prefix}webhook")
    if given.email is not None:
        yield EmailChannel(given.email, name=f"{prefix}email")
