"""The account of a pilot on the local ad platform: the history's own world, and settings that lead to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gaelp.budget.ledger import AdAccount
from gaelp.config.google_ads_settings import GoogleAdsSettings
from gaelp.config.history_settings import SynthesizedHistorySettings
from gaelp.config.settings import PlatformSettings, Settings
from gaelp.errors import BadInput
from gaelp.pilot.local_platform import running_local_platform
from gaelp.sandbox.control_client import SandboxHandle
from gaelp.sandbox.history_specs import history_end, history_specs
from gaelp.sandbox.spec import SandboxSpec

__all__ = ["LOCAL_PLATFORM", "LocalAccount", "running_local_account", "synthesized"]

LOCAL_PLATFORM = "google-ads"  # whose API the local ad platform speaks, and whose terms it has
_DEADLINE_SECONDS = 60.0
_CALLS_PER_SECOND = 1000.0  # simulated days pass in seconds, so a rate limit of wall time has no meaning


@dataclass(frozen=True, slots=True)
class LocalAccount:
    """A running platform, the settings that lead to it, and its account as the ledger knows it."""

    platform: SandboxHandle
    settings: Settings
    account: AdAccount


@contextmanager
def running_local_account(settings: Settings, folder: Path, *, pilot: str) -> Iterator[LocalAccount]:
    """Run the platform in `folder`, at the end of the history or wherever an earlier call left it.

    Products, buyers and rivals are those of the history. `pilot` names the account in the ledger: every pilot has a
    platform of its own, whose costs no other one may book.
    """
    spec, world = history_specs(synthesized(settings), settings.run.seed)
    with running_local_platform(folder, world, not_before=history_end(spec, world)) as platform:
        account = AdAccount(f"local-{pilot}", world.currency, world.time_zone)
        yield LocalAccount(platform, _with_platform(settings, platform, world, account), account)


def synthesized(settings: Settings) -> SynthesizedHistorySettings:
    """The history that the local ad platform continues; BadInput if the settings name none."""
    if settings.history.synthesize is None:
        raise BadInput(
            "pilot.local=true runs on the local ad platform of a synthesized history, and history.synthesize is not"
            " set: set it (such as history.synthesize.weeks=9), or pilot.local=false and name an ad platform"
        )
    return settings.history.synthesize


def _with_platform(settings: Settings, platform: SandboxHandle, world: SandboxSpec, account: AdAccount) -> Settings:
    google = GoogleAdsSettings(
        customer_id=world.customer_ids[0],
        endpoint=f"localhost:{platform.ports['google']}",
        certificate=platform.certificate_path,
        deadline_seconds=_DEADLINE_SECONDS,
        calls_per_second=_CALLS_PER_SECOND,
    )
    named = PlatformSettings(name=LOCAL_PLATFORM, account=account.id, google_ads=google)
    return settings.model_copy(update={"platform": named})
