"""Which history and which world the settings ask for; a pilot on the local ad platform continues the same world."""

from datetime import datetime, timedelta

from gaelp.config.history_settings import SynthesizedHistorySettings
from gaelp.sandbox.incumbent import SynthesisSpec
from gaelp.sandbox.spec import SandboxSpec, load_sandbox_spec

__all__ = ["history_end", "history_specs"]

_WEEK_DAYS = 7


def history_specs(asked: SynthesizedHistorySettings, run_seed: int) -> tuple[SynthesisSpec, SandboxSpec]:
    """The history and its world; both are drawn from the seed of the run unless the history names its own."""
    seed = run_seed if asked.seed is None else asked.seed
    spec = SynthesisSpec(weeks=asked.weeks, campaigns=asked.campaigns, seed=seed, bid_log_sd=asked.bid_log_sd)
    return spec, load_sandbox_spec(asked.world).model_copy(update={"seed": seed})


def history_end(spec: SynthesisSpec, world: SandboxSpec) -> datetime:
    """The midnight of the account's clock at which the history ends; it has whole weeks of whole days."""
    first = world.start.astimezone(world.zone)
    midnight = first.replace(hour=0, minute=0)
    begins = midnight if midnight == first else midnight + timedelta(days=1)
    return begins + timedelta(days=spec.weeks * _WEEK_DAYS)
