"""The plan of a run's pilot: campaigns from the history, what they should earn, and whether they can show it."""

from contextlib import closing
from dataclasses import dataclass
from datetime import date, timedelta
from math import ceil

import pyarrow as pa

from gaelp.budget.ledger import AdAccount
from gaelp.clock import Clock
from gaelp.config.pilot_settings import PilotSettings
from gaelp.config.settings import Settings
from gaelp.errors import BadInput
from gaelp.history.fidelity import FittedAccount, fit_account
from gaelp.history.split_windows import Splits
from gaelp.market.build import configured_personas
from gaelp.market.calibration.report_fit import fit_reports
from gaelp.market.calibration.report_frame import HourReports
from gaelp.phases.agent_bundle import Agent
from gaelp.phases.history_source import provide_history
from gaelp.phases.history_windows import fix_windows, read_open_days
from gaelp.phases.stage_report import OnReport, StageReport
from gaelp.pilot.adverts_file import campaigns_from_file, load_adverts
from gaelp.pilot.forecast import ForecastAccount
from gaelp.pilot.late_value import LateValue, fit_refunds, late_value
from gaelp.pilot.local_campaigns import local_campaigns
from gaelp.pilot.pilot_plan import PilotCampaign, PilotPlan
from gaelp.pilot.sale_chance import measure_chance
from gaelp.storage.backends import build_store
from gaelp.storage.schema import TABLES, TableName
from gaelp.storage.store import RowFilter

__all__ = ["PilotKnowledge", "first_pilot_day", "make_plan", "read_account"]

_LOSS_SHARE = 3  # a pilot may lose a third of what it can spend, unless the settings say otherwise
_CENT_MICROS = 10_000
_SIGNING_DAYS = 2  # of a real account: limits and mandate take two people


@dataclass(frozen=True, slots=True)
class PilotKnowledge:
    """What the open days of the history say about the account, in the market that the agent was trained in."""

    agent: Agent
    splits: Splits
    reports: HourReports
    fitted: FittedAccount
    late: LateValue

    def forecast(self, settings: Settings) -> ForecastAccount:
        """What a plan is played in."""
        refunds = self.late.refunds
        return ForecastAccount(
            spec=self.agent.market.spec,
            personas=configured_personas(settings),
            estimates=self.fitted.estimates,
            curves=self.fitted.curves,
            objective=self.agent.description.objective,
            chance=measure_chance(self.reports),
            refund_share=refunds.share if refunds is not None else 0.0,
        )


def read_account(settings: Settings, agent: Agent, clock: Clock, on_report: OnReport) -> PilotKnowledge:
    """Fit the account to every day of the history that anyone may read; the sealed window stays sealed."""
    splits = fix_windows(settings, provide_history(settings, on_report), clock)
    on_report(StageReport("fitting the account to its history"))
    reports = read_open_days(settings, splits)
    spec = agent.market.spec
    fit = fit_reports(reports, spec)
    refunds = fit_refunds(_sales(settings, splits), splits.validation.known_at)
    return PilotKnowledge(
        agent=agent,
        splits=splits,
        reports=reports,
        fitted=fit_account(reports, fit, spec),
        late=late_value(fit.delay, refunds),
    )


def make_plan(
    settings: Settings, known: PilotKnowledge, account: AdAccount, *, name: str, model_hash: str, first_day: date
) -> PilotPlan:
    """The plan of the settings for an account, from a day on."""
    chosen, campaigns = settings.pilot, _campaigns(settings, known, account, name)
    reach = settings.history.reach
    highest = max(bid for campaign in campaigns for bid in campaign.reference_bids_micros)
    spend = sum(campaign.daily_micros for campaign in campaigns) * chosen.days
    return PilotPlan(
        name=name,
        account=account.id,
        currency=account.currency,
        time_zone=account.time_zone,
        model_hash=model_hash,
        campaigns=campaigns,
        first_day=first_day,
        days=chosen.days,
        settle_days=chosen.settle_days,
        reach=reach,
        bid_ceiling_micros=ceil(highest * reach / _CENT_MICROS) * _CENT_MICROS,
        loss_cap_micros=chosen.loss_cap_micros or spend // _LOSS_SHARE,
    )


def first_pilot_day(today: date, settings: PilotSettings) -> date:
    """The first day of spending: after the shadow days, which are whole days, and time to sign where people must."""
    return today + timedelta(days=1 + settings.shadow_days + (0 if settings.local else _SIGNING_DAYS))


def _campaigns(settings: Settings, known: PilotKnowledge, account: AdAccount, name: str) -> tuple[PilotCampaign, ...]:
    estimates, chosen = known.fitted.estimates, settings.pilot
    if chosen.local:
        if settings.history.synthesize is None:
            raise BadInput("pilot.local=true without history.synthesize: set it, or pilot.local=false")
        return local_campaigns(name, chosen, settings.history.synthesize, settings.run.seed, estimates)
    if chosen.adverts is None:
        raise BadInput("pilot.adverts names no file: a pilot needs campaigns with adverts (docs/go-live.md)")
    return campaigns_from_file(name, load_adverts(chosen.adverts), chosen, account.currency, estimates)


def _sales(settings: Settings, splits: Splits) -> pa.Table:
    """The stored sales of the history, up to the sealed window."""
    columns = ("conversion", "revision", "reported_at", "value_micros")
    schema = pa.schema([TABLES[TableName.CONVERSIONS].columns.field(name) for name in columns])
    with closing(build_store(settings)) as store:
        parts = [
            part.cast(schema) for part in store.scan(TableName.CONVERSIONS, RowFilter(sources=splits.sources), columns)
        ]
    return pa.concat_tables([schema.empty_table(), *parts])
