"""Experiments on a campaign: a copy with other bids gets a share of the users.

An experiment is made in three steps: experiment and arms with the label of the key in one request, then the bids of the
copy, then its start. A repeated call continues where the last one ended.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from gaelp.errors import Refused
from gaelp.money import Micros
from gaelp.platforms.experiments import ExperimentState
from gaelp.platforms.google_ads.account_reading import AdGroupRow, read_ad_groups, read_campaigns
from gaelp.platforms.google_ads.call_errors import describe
from gaelp.platforms.google_ads.connection import AdsConnection
from gaelp.platforms.google_ads.gaql import query
from gaelp.platforms.google_ads.key_labels import change_once
from gaelp.platforms.google_ads.operations import Operations
from gaelp.platforms.platform import CallResult, Done, Unknown

__all__ = ["Trials"]

_EXPERIMENT_ID = -1
_TRACE = "start_experiment "
_FIELDS = ("experiment.resource_name", "experiment.name", "experiment.status")
_ARMS = query(
    "experiment_arm",
    "experiment_arm.experiment",
    "experiment_arm.control",
    "experiment_arm.traffic_split",
    "experiment_arm.campaigns",
    "experiment_arm.in_design_campaigns",
)


@dataclass(slots=True)
class _Trial:
    """An experiment with its arms."""

    resource_name: str
    name: str
    status: str
    base: str = ""
    treatment: str = ""
    percent: int = 0

    @property
    def has_started(self) -> bool:
        return self.status not in ("SETUP", "UNKNOWN", "UNSPECIFIED")


class Trials:
    """The experiments of an account."""

    def __init__(self, connection: AdsConnection) -> None:
        self._connection = connection

    def start(self, name: str, campaign: str, percent: int, bids: Mapping[str, Micros], key: str) -> CallResult:
        """Create an experiment, set the bids of its treatment, and start it."""
        made = change_once(self._connection, key, f"{_TRACE}{name}", partial(self._create, name, campaign, percent))
        if made != Done():
            return made
        try:
            trial = self._find(name)
            if not trial.has_started:
                if bids:
                    self._connection.mutate(self._bid_operations(trial, bids))
                self._command("schedule_experiment", trial)
        except Exception as error:  # noqa: BLE001 - it exists and may have started; a repeated call continues
            return Unknown(f"the experiment {name} is set up, but it is not known to have started: {describe(error)}")
        return Done()

    def end(self, name: str, key: str) -> CallResult:
        """Give all users back; an ended experiment stays as it is."""
        trial = self._find(name)
        if trial.status == "ENABLED":
            self._command("end_experiment", trial)
        return change_once(self._connection, key, "end_experiment", list)

    def set_bids(self, name: str, bids: Mapping[str, Micros], key: str) -> CallResult:
        """Set bids of the treatment."""
        plan = partial(self._planned_bids, name, bids)
        return change_once(self._connection, key, "set_treatment_bids", plan)

    def outcome_of(self, trace: str) -> CallResult:
        """The outcome of a change by its trace: an experiment that is only set up has not started."""
        name = trace.removeprefix(_TRACE)
        if name == trace or self._find(name).has_started:
            return Done()
        return Unknown(f"the experiment {name} is set up and has not started: repeat the call with the same key")

    def states(self) -> tuple[ExperimentState, ...]:
        """Every experiment that has started."""
        campaigns = {row.resource_name: row for row in read_campaigns(self._connection)}
        trials = [trial for trial in self._all() if trial.has_started and trial.base in campaigns]
        groups = read_ad_groups(self._connection, campaigns.values())
        return tuple(
            ExperimentState(
                name=trial.name,
                campaign=campaigns[trial.base].name,
                percent=trial.percent,
                status="running" if trial.status == "ENABLED" else "ended",
                bids=_bids(groups.get(_id_of(trial.treatment), [])),
            )
            for trial in sorted(trials, key=lambda each: each.name)
        )

    # Steps

    def _create(self, name: str, campaign: str, percent: int) -> list[Any]:
        base = [row for row in read_campaigns(self._connection) if row.name == campaign and not row.is_removed]
        if not base:
            raise Refused(f"there is no campaign {campaign!r} to make an experiment on: order a budget for it first")
        enums = self._connection.client.enums
        resource_name = self._connection.name_of("experiments", _EXPERIMENT_ID)
        first, control, treatment = (self._connection.message("MutateOperation") for _ in range(3))
        experiment = first.experiment_operation.create
        experiment.resource_name, experiment.name, experiment.suffix = resource_name, name, f"[{name}]"
        experiment.type_ = enums.ExperimentTypeEnum.SEARCH_CUSTOM
        experiment.status = enums.ExperimentStatusEnum.SETUP
        for operation, arm_name, share in ((control, "control", 100 - percent), (treatment, "treatment", percent)):
            arm = operation.experiment_arm_operation.create
            arm.experiment, arm.name, arm.traffic_split = resource_name, arm_name, share
            arm.control = arm_name == "control"
        control.experiment_arm_operation.create.campaigns.append(base[0].resource_name)
        return [first, control, treatment]

    def _planned_bids(self, name: str, bids: Mapping[str, Micros]) -> list[Any]:
        trial = self._find(name)
        if trial.status != "ENABLED":
            raise Refused(f"the experiment {name} is {trial.status.lower()}: bids change only while it runs")
        return self._bid_operations(trial, bids)

    def _bid_operations(self, trial: _Trial, bids: Mapping[str, Micros]) -> list[Any]:
        operations, groups = Operations(self._connection), self._groups_of(trial.treatment)
        missing = sorted(bids.keys() - groups.keys())
        if missing:
            raise Refused(f"the treatment of {trial.name} has no targets {', '.join(missing)}: bid on them before it")
        return [operations.set_bid(groups[target], micros) for target, micros in sorted(bids.items())]

    def _groups_of(self, campaign: str) -> dict[str, str]:
        where = (f"campaign.id = {_id_of(campaign)}", "ad_group.status != 'REMOVED'")
        fields = ("ad_group.name", "ad_group.resource_name")
        rows = self._connection.search(query("ad_group", *fields, where=where, end="PARAMETERS include_drafts=true"))
        return {row.ad_group.name: row.ad_group.resource_name for row in rows}

    def _command(self, method: str, trial: _Trial) -> None:
        """Start or end an experiment; Google does the rest by itself."""
        service, request = self._connection.service("ExperimentService"), {self._named(method): trial.resource_name}
        self._connection.call(lambda timeout: getattr(service, method)(request=request, timeout=timeout, retry=None))

    def _named(self, method: str) -> str:
        return "experiment" if method == "end_experiment" else "resource_name"

    # Reading

    def _find(self, name: str) -> _Trial:
        for trial in self._all():
            if trial.name == name:
                return trial
        raise Refused(f"there is no experiment {name!r}: start it first")

    def _all(self) -> list[_Trial]:
        rows = self._connection.search(query("experiment", *_FIELDS, where=["experiment.status != 'REMOVED'"]))
        trials = {
            row.experiment.resource_name: _Trial(
                row.experiment.resource_name, row.experiment.name, row.experiment.status.name
            )
            for row in rows
        }
        for row in self._connection.search(_ARMS):
            arm, trial = row.experiment_arm, trials.get(row.experiment_arm.experiment)
            if trial is not None and arm.control:
                trial.base = arm.campaigns[0] if arm.campaigns else ""
            elif trial is not None:
                trial.treatment = next(iter((*arm.campaigns, *arm.in_design_campaigns)), "")
                trial.percent = arm.traffic_split
        return list(trials.values())


def _bids(groups: list[AdGroupRow]) -> tuple[tuple[str, Micros], ...]:
    return tuple((group.name, group.bid_micros) for group in groups if not group.is_library)


def _id_of(resource_name: str) -> int:
    return int(resource_name.rpartition("/")[2] or 0)
