"""Phase 3 as a program of its own, with the secrets of its environment: HOME and overrides are its arguments."""

import sys
from pathlib import Path

from gaelp.cli.startup import prepare
from gaelp.observability import get_logger
from gaelp.phases.declaration import carry_out
from gaelp.phases.phase_result import read_result
from gaelp.phases.pilot_declaration import PILOT
from gaelp.phases.run_folder import RunFolder
from gaelp.types import Phase, RunId
from tests.phases import history_home, pilot_home

CALM = ("logging.level=debug",)


def main(home, overrides):
    """Carry out the pilot of run `first`; its log says what it was given, as any part of it might."""
    settings = prepare("quick-test", [f"home={home}", *history_home.SMALL, *overrides, *CALM]).settings
    google, meta = settings.platform.google_ads, settings.platform.meta_ads
    log = get_logger("gaelp.test")
    log.info("probe", settings=settings, google=google, url=settings.budget.database_url)
    log.info("probe of a header", header=f"developer-token: {google.developer_token.get_secret_value()}")
    log.info("probe of a query", query=f"https://graph/?access_token={meta.access_token.get_secret_value()}")
    previous = read_result(RunFolder(settings.home, RunId("first")).phase(Phase.HISTORY).result())
    print(carry_out(PILOT, pilot_home.assignment(settings, previous, history_home)))  # noqa: T201 - read by the test


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
