"""What every command that does work does first: load the settings, make sure of the home, set up the logs."""

from collections.abc import Sequence
from pathlib import Path

from gaelp.cli.interruption import watch
from gaelp.config import LoadedSettings, check_home, known_secrets, load_settings
from gaelp.config.database_url import parse_database_url
from gaelp.config.places import absolute
from gaelp.config.private_files import close_to_others
from gaelp.observability import configure, get_logger

__all__ = ["prepare", "prepare_run"]


def prepare(config: str | None, overrides: Sequence[str] | None = None) -> LoadedSettings:
    """Settings that a run could start with; from here on logs go where they say, without secrets."""
    loaded = load_settings(config, overrides=overrides or ())
    check_home(loaded.settings.home)
    if (address := loaded.settings.budget.database_url) is not None:
        parse_database_url(address.get_secret_value())  # before the work, not at its first gate
    watch(loaded.settings.home)
    logging = loaded.settings.logging
    configure(level=logging.level, format=logging.format, secrets=known_secrets())
    _make_home_private(absolute(loaded.settings.home))
    return loaded


def prepare_run(config: str | None, overrides: Sequence[str] | None = None) -> LoadedSettings:
    """Prepare a command that starts a run: everything that the settings name has to exist, and be valid."""
    # Not at the top: torch takes seconds, and neither other commands nor help and completion of this one need it.
    from gaelp.phases.inputs import check_inputs  # noqa: PLC0415 - see above

    loaded = prepare(config, overrides)
    check_inputs(loaded)
    return loaded


def _make_home_private(home: Path) -> None:
    """Homes of older versions could be read by everybody on the machine; what cannot be changed is reported."""
    log = get_logger(__name__)
    try:
        if close_to_others(home):
            log.warning(
                "the home was open to other users of this machine: now it is private (mode 700)", home=str(home)
            )
    except OSError as problem:
        log.warning("the home is open to other users and cannot be made private", home=str(home), problem=str(problem))
