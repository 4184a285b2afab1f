"""What a command does before its work: load the settings, check the home, set up the logs."""

from collections.abc import Sequence
from pathlib import Path

from gaelp.cli.interruption import watch
from gaelp.config import LoadedSettings, check_home, known_secrets, load_settings, require_home
from gaelp.config.database_url import parse_database_url
from gaelp.config.places import absolute
from gaelp.config.private_files import close_to_others
from gaelp.observability import configure, get_logger

__all__ = ["prepare", "prepare_reading", "prepare_run"]


def prepare(config: str | None, overrides: Sequence[str] | None = None) -> LoadedSettings:
    """Prepare a command that may write: a home that does not exist is created by what is first written there."""
    return _set_up(load_settings(config, overrides=overrides or ()))


def prepare_reading(
    config: str | None, overrides: Sequence[str] | None = None, *, in_home: bool = False
) -> LoadedSettings:
    """Prepare a command that needs what others wrote: a home that does not exist is an error, not an empty result.

    Where the settings name a PostgreSQL, the home may be missing, unless what is read is always `in_home`.
    """
    loaded = load_settings(config, overrides=overrides or ())
    if in_home or loaded.settings.budget.database_url is None:
        require_home(loaded)
    return _set_up(loaded)


def prepare_run(config: str | None, overrides: Sequence[str] | None = None) -> LoadedSettings:
    """Prepare a command that starts a run: everything that the settings name has to exist and be valid."""
    loaded = prepare(config, overrides)
    # Here, not at the top: torch takes seconds, which other commands, help, completion and wrong settings do not need.
    from gaelp.phases.inputs import check_inputs  # noqa: PLC0415 - see above

    check_inputs(loaded)
    return loaded


def _set_up(loaded: LoadedSettings) -> LoadedSettings:
    """Check what can be checked before the work, and configure the logs without secrets."""
    settings = loaded.settings
    check_home(settings.home)
    if (address := settings.budget.database_url) is not None:
        parse_database_url(address.get_secret_value())  # before the work, not at its first gate
    watch(settings.home)
    configure(level=settings.logging.level, format=settings.logging.format, secrets=known_secrets())
    _make_home_private(absolute(settings.home))
    return loaded


def _make_home_private(home: Path) -> None:
    """Close homes of older versions, which everybody on the machine could read; a failure is only logged."""
    log = get_logger(__name__)
    try:
        if close_to_others(home):
            log.warning(
                "the home was open to other users of this machine: now it is private (mode 700)", home=str(home)
            )
    except OSError as problem:
        log.warning("the home is open to other users and cannot be made private", home=str(home), problem=str(problem))
