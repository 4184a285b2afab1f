"""What the sealed window says of the agent: by weights over logged densities, or by the market where there are none."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from gaelp.history.fidelity import FittedAccount
from gaelp.history.log_checks import LogCheck, check_log
from gaelp.history.logged_bidders import bidders_on_log
from gaelp.history.logged_lift import GroupLift, LoggedPolicy, PolicyLift
from gaelp.history.policy_ranking import POLICIES_MIN, PolicyRanking, rank_policies
from gaelp.history.posterior_lift import TwinOutcome, lift_between, lifts_by_group
from gaelp.history.posterior_report import LOGGED_BIDS, PosteriorLift
from gaelp.history.sealed_window import OpenedWindow, alpha_of_look
from gaelp.history.split_windows import Splits
from gaelp.history.twin_bidders import play_bidders
from gaelp.market.build import configured_personas
from gaelp.phases.agent_bundle import Agent
from gaelp.phases.champion_policy import champion_of
from gaelp.phases.declaration import Assignment
from gaelp.phases.history_figures import ModelBased, TrueResult
from gaelp.phases.history_truth import run_again
from gaelp.phases.log_judgement import (
    AGENT,
    ALPHA,
    CHAMPION,
    NOTHING_KNOWN,
    JudgedLog,
    harmed_groups,
    interval_metrics,
    judge_on_log,
    look_options,
)
from gaelp.phases.stage_report import StageReport

__all__ = ["JudgedAgent", "judge_agent"]

_RIVALS = ("constant", "mpc")
_SCALES = (0.8, 1.25)  # of the logged bids: whoever claims a gain has to show what is left of it over bidding lower


@dataclass(frozen=True, slots=True)
class JudgedAgent:
    """What the sealed window says of the agent; one of `weighted` and `model` at most."""

    check: LogCheck
    weighted: JudgedLog | None = None  # by weights over logged densities
    model: ModelBased | None = None
    ranking: PolicyRanking | None = None
    truth: tuple[TrueResult, ...] = ()

    @property
    def lift(self) -> PolicyLift | None:
        """Of the agent over the logging policy."""
        return None if self.weighted is None else self.weighted.lift

    @property
    def incumbent_lift(self) -> PolicyLift | None:
        """Of the agent over the champion, where there is one."""
        return None if self.weighted is None else self.weighted.incumbent_lift

    @property
    def rivals(self) -> tuple[PolicyLift, ...]:
        """Of the others over the logging policy."""
        return () if self.weighted is None else self.weighted.rivals

    @property
    def groups(self) -> tuple[GroupLift, ...]:
        """Of the agent by campaign and by segment."""
        return () if self.weighted is None else self.weighted.groups

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why the log cannot settle the gate; that it has no densities is none where the market is asked instead."""
        settled = () if self.model is None else self.check.of("model_based")
        return tuple(str(problem) for problem in self.check.problems if problem not in settled)

    @property
    def metrics(self) -> dict[str, float]:
        """The figures of the gate about the agent."""
        return (self.weighted.metrics if self.weighted else {}) | self._model_based()

    def _model_based(self) -> dict[str, float]:
        if self.model is None:
            return {}
        conclusive = not self.check.of("inconclusive")
        over, incumbent = self.model.lift, self.model.incumbent_lift or self.model.lift
        return {
            "posterior_draws": float(over.draws) if conclusive else 0.0,
            **interval_metrics("model_based_lift", _ends(over) if conclusive else NOTHING_KNOWN),
            **interval_metrics("model_based_lift_over_incumbent", _ends(incumbent) if conclusive else NOTHING_KNOWN),
            "model_based_harmed_groups": harmed_groups(self.model.groups),
            "bid_variation": self.model.bid_variation,
        }


def judge_agent(
    given: Assignment,
    agent: Agent,
    account: FittedAccount,
    opened: OpenedWindow,
    splits: Splits,
    *,
    by_market: bool,
) -> JudgedAgent:
    """Check the opened log, ask every bidder what it would have bid on it, and say what that would have been worth.

    `by_market`: the gate asks the market alone, whatever the sealed window turns out to have. Where it asks for weights
    and the sealed window has none, there is no figure for it.
    """
    settings, logged = given.settings, opened.logged
    check = check_log(logged, window=opened.window, others=(splits.calibration, splits.validation))
    check.require_usable()
    if not len(logged) or (check.needs_model and not by_market):
        return JudgedAgent(check)
    given.on_report(StageReport("asking what the agent would have bid"))
    policies = _policies(given, agent, account, opened)
    given.on_report(StageReport("playing the bidders in the market"))
    seed = settings.evaluation.seed
    played = play_bidders(
        logged, policies, account, configured_personas(settings), draws=settings.history.draws, seed=seed
    )
    if by_market:
        judged = JudgedAgent(check, model=_by_model(played, account))
    else:
        judged = _by_weights(given, check, opened, policies, played)
    if settings.history.synthesize is not None:
        given.on_report(StageReport("running the sealed days again on the local ad platform"))
    truth = run_again(settings, splits, logged, {AGENT: policies[AGENT]})  # others would take as long again, each
    return replace(judged, truth=truth)


def _policies(given: Assignment, agent: Agent, account: FittedAccount, opened: OpenedWindow) -> dict[str, LoggedPolicy]:
    """The agent first, then the rules, the champion if there is one, and the logged bids scaled."""
    settings, logged = given.settings, opened.logged
    champion = champion_of(settings, given.folder.run_id)
    bidders = {AGENT: agent.policy, **{key: agent.tuned.build(key) for key in _RIVALS if key in agent.tuned.bidders}}
    if champion is not None:
        bidders[CHAMPION] = champion.policy
    policies = bidders_on_log(bidders, agent.market, account.estimates, logged, reach=settings.history.reach)
    everywhere = np.ones(len(logged), bool)
    for scale in _SCALES:
        name = f"{LOGGED_BIDS} x {scale:g}"
        policies[name] = LoggedPolicy(name, np.full(len(logged), np.log(scale)), everywhere)
    return policies


def _by_weights(
    given: Assignment,
    check: LogCheck,
    opened: OpenedWindow,
    policies: Mapping[str, LoggedPolicy],
    played: Mapping[str, TwinOutcome],
) -> JudgedAgent:
    history = given.settings.history
    rng = np.random.default_rng([given.settings.evaluation.seed, 23])
    judged = judge_on_log(opened.logged, check, policies, rng, look_options(history.replicates))
    others = [key for key in policies if key != AGENT]
    lifts = {AGENT: judged.lift, **dict(zip(others, judged.rivals, strict=True))}
    return JudgedAgent(check, judged, ranking=_ranking({key: lift for key, lift in lifts.items() if lift}, played))


def _ranking(lifts: Mapping[str, PolicyLift], played: Mapping[str, TwinOutcome]) -> PolicyRanking | None:
    """Do market and log order the bidders alike? The logged bids are one of them; None with too few figures."""
    history: dict[str, float] = {}
    market: dict[str, float] = {}
    for key, lift in lifts.items():
        value, logged = lift.judged.value_per_dollar, lift.judged.reference_value_per_dollar
        if value is None or logged is None:
            continue
        history |= {lift.policy: value, LOGGED_BIDS: logged}
        own = {lift.policy: played[key].own_value_per_dollar, LOGGED_BIDS: played[LOGGED_BIDS].own_value_per_dollar}
        market |= own
    return rank_policies(market, history) if len(history) >= POLICIES_MIN else None


def _by_model(played: Mapping[str, TwinOutcome], account: FittedAccount) -> ModelBased:
    confidence = 1 - alpha_of_look(ALPHA)
    logged, agent = played[LOGGED_BIDS], played[AGENT]
    champion = played.get(CHAMPION)
    others = [key for key in played if key not in (AGENT, LOGGED_BIDS)]
    return ModelBased(
        lift=lift_between(agent, logged, confidence),
        incumbent_lift=None if champion is None else lift_between(agent, champion, confidence),
        rivals=tuple(lift_between(played[key], logged, confidence) for key in others),
        groups=lifts_by_group(agent, logged, account.estimates, confidence),
        bid_variation=account.bid_variation,
    )


def _ends(lift: PosteriorLift) -> tuple[float, float, float]:
    return lift.lift, lift.lift_lower, lift.lift_upper
