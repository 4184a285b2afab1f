"""The logged campaigns of phase 2: stored rows of named sources, or a history that is made where there is none."""

from contextlib import closing

from gaelp.config.history_settings import SynthesizedHistorySettings
from gaelp.config.settings import Settings
from gaelp.errors import BadInput
from gaelp.history.splits import HistoryRows, fixed_splits
from gaelp.phases.stage_report import OnReport, StageReport
from gaelp.sandbox.incumbent import SynthesisSpec
from gaelp.sandbox.spec import SandboxSpec, load_sandbox_spec
from gaelp.sandbox.synthesis import synthesize
from gaelp.sandbox.synthesis_rows import history_source, history_tables
from gaelp.storage.backends import build_store
from gaelp.storage.schema import TableName
from gaelp.storage.store import RowFilter
from gaelp.types import Phase

__all__ = ["check_history", "history_of", "provide_history", "synthesis_specs"]


def history_of(settings: Settings) -> HistoryRows:
    """Which rows are the history; they need not exist yet."""
    given = settings.history
    if given.synthesize is None:
        return HistoryRows(sources=given.sources, name=given.name, zone=given.zone)
    if given.sources:
        raise BadInput(
            f"history.sources={list(given.sources)} and history.synthesize are both given; allowed: one. Name stored"
            " sources, or have a history made"
        )
    spec, world = synthesis_specs(settings, given.synthesize)
    return HistoryRows(sources=(history_source(spec, world),), name=given.name, zone=given.zone or world.time_zone)


def check_history(settings: Settings) -> None:
    """Raise BadInput where a run would reach phase 2 without a logged campaign; hours of training come before it."""
    if settings.run.until is Phase.SIMULATION or settings.history.synthesize is not None:
        return
    rows = history_of(settings)
    if not _is_stored(settings, rows):
        raise BadInput(
            f"the store has no logged campaign of {', '.join(rows.sources) or 'phase history'}, which phase 2 needs:"
            " import a log (`gaelp data import`), have one made (--set history.synthesize.weeks=6), or end the run"
            " before it (--set run.until=simulation)"
        )


def provide_history(settings: Settings, on_report: OnReport) -> HistoryRows:
    """The history, made now on the local ad platform if the settings ask for that and it is not stored yet."""
    rows = history_of(settings)
    if settings.history.synthesize is None or _is_stored(settings, rows):
        return rows
    spec, world = synthesis_specs(settings, settings.history.synthesize)
    stage = f"making {spec.weeks} weeks of history on the local ad platform"
    on_report(StageReport(stage, hint="a first run on a machine compiles the auctions: about a minute"))
    # Phase 2 reads no bid simulator points, and they take most of the time.
    history = synthesize(
        spec,
        world,
        lambda done, total: on_report(StageReport(stage, done, total, "hours")),
        simulator_points=False,
    )
    with closing(build_store(settings)) as store:
        store.append(history_tables(history))
    return rows


def synthesis_specs(settings: Settings, asked: SynthesizedHistorySettings) -> tuple[SynthesisSpec, SandboxSpec]:
    """What a history that is made is made from: its bids and budgets, and its world."""
    seed = settings.run.seed if asked.seed is None else asked.seed
    spec = SynthesisSpec(weeks=asked.weeks, campaigns=asked.campaigns, seed=seed, bid_log_sd=asked.bid_log_sd)
    return spec, load_sandbox_spec(asked.world).model_copy(update={"seed": seed})


def _is_stored(settings: Settings, rows: HistoryRows) -> bool:
    """Whether rows of the history are there; once its windows are fixed they are, sealed or not."""
    if fixed_splits(settings, rows) is not None:
        return True
    with closing(build_store(settings)) as store:
        wanted = RowFilter(sources=rows.sources, phases=(Phase.HISTORY,))
        return any(part.num_rows for part in store.scan(TableName.DECISIONS, wanted, ("id",)))
