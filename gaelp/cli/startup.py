"""What every command that does work does first: load the settings, make sure of the home, set up the logs."""

from collections.abc import Sequence

from gaelp.cli.interruption import watch
from gaelp.config import LoadedSettings, check_home, known_secrets, load_settings
from gaelp.config.database_url import parse_database_url
from gaelp.observability import configure

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
    return loaded


def prepare_run(config: str | None, overrides: Sequence[str] | None = None) -> LoadedSettings:
    """Prepare a command that starts a run: everything that the settings name has to exist, and be valid."""
    # Not at the top: torch takes seconds, and neither other commands nor help and completion of this one need it.
    from gaelp.phases.inputs import check_inputs  # noqa: PLC0415 - see above

    loaded = prepare(config, overrides)
    check_inputs(loaded)
    return loaded
