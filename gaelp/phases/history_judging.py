"""What the sealed window says of the agent: by weights over logged densities, or by the market where there are none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gaelp.history.fidelity import FittedAccount
from gaelp.history.log_checks import LogCheck, check_log
from gaelp.history.logged_bidders import bidders_on_log
from gaelp.history.logged_lift import GroupLift, LiftOptions, LoggedPolicy, PolicyLift, group_lifts, policy_lift
from gaelp.history.policy_ranking import POLICIES_MIN, PolicyRanking, rank_policies
from gaelp.history.posterior_lift import TwinOutcome, lift_between, lifts_by_group
from gaelp.history.posterior_report import LOGGED_BIDS, PosteriorGroup, PosteriorLift
from gaelp.history.sealed_window import OpenedWindow, alpha_of_look
from gaelp.history.split_windows import Splits
from gaelp.history.twin_bidders import play_bidders
from gaelp.market.build import configured_personas
from gaelp.phases.agent_bundle import Agent
from gaelp.phases.champion_policy import champion_of
from gaelp.phases.declaration import Assignment
from gaelp.phases.history_figures import HARM_SHARE, ModelBased, TrueResult
from gaelp.phases.history_truth import run_again
from gaelp.phases.stage_report import StageReport

__all__ = ["ALPHA", "JudgedAgent", "judge_agent"]

ALPHA = 0.05  # of all looks at a sealed window together
_NOTHING_KNOWN = (0.0, -1.0, 100.0)  # a lift that the log cannot tell: anything is possible
_RIVALS = ("constant", "mpc")
_SCALES = (0.8, 1.25)  # of the logged bids: whoever claims a gain has to show what is left of it over bidding lower


@dataclass(frozen=True, slots=True)
class JudgedAgent:
    """What the sealed window says of the agent; one of `lift` and `model` at most."""

    check: LogCheck
    lift: PolicyLift | None = None
    incumbent_lift: PolicyLift | None = None
    rivals: tuple[PolicyLift, ...] = ()
    groups: tuple[GroupLift, ...] = ()
    model: ModelBased | None = None
    ranking: PolicyRanking | None = None
    truth: tuple[TrueResult, ...] = ()

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why the log cannot settle the gate; that it has no densities is none where the market is asked instead."""
        settled = () if self.model is None else self.check.of("model_based")
        return tuple(str(problem) for problem in self.check.problems if problem not in settled)

    @property
    def metrics(self) -> dict[str, float]:
        """The figures of the gate about the agent."""
        return self._weighted() | self._model_based()

    def _weighted(self) -> dict[str, float]:
        if self.lift is None:
            return {}
        conclusive = not self.check.problems and self.lift.judged.lift is not None
        sample = self.lift.judged.diagnostics.effective_decisions if conclusive else 0.0
        return {
            "effective_sample": sample,
            **_interval("lift_over_logging", _weighted_ends(self.lift, conclusive=conclusive)),
            **_interval("lift_over_incumbent", _weighted_ends(self.incumbent_lift or self.lift, conclusive=conclusive)),
            "harmed_groups": _harmed(self.groups),
        }

    def _model_based(self) -> dict[str, float]:
        if self.model is None:
            return {}
        conclusive = not self.check.of("inconclusive")
        over, incumbent = self.model.lift, self.model.incumbent_lift or self.model.lift
        return {
            "posterior_draws": float(over.draws) if conclusive else 0.0,
            **_interval("model_based_lift", _model_ends(over) if conclusive else _NOTHING_KNOWN),
            **_interval("model_based_lift_over_incumbent", _model_ends(incumbent) if conclusive else _NOTHING_KNOWN),
            "model_based_harmed_groups": _harmed(self.model.groups),
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
    truth = run_again(settings, splits, logged, {"agent": policies["agent"]})  # others would take as long again, each
    return replace(judged, truth=truth)


def _policies(given: Assignment, agent: Agent, account: FittedAccount, opened: OpenedWindow) -> dict[str, LoggedPolicy]:
    """The agent first, then the rules, the champion if there is one, and the logged bids scaled."""
    settings, logged = given.settings, opened.logged
    champion = champion_of(settings, given.folder.run_id)
    bidders = {"agent": agent.policy, **{key: agent.tuned.build(key) for key in _RIVALS if key in agent.tuned.bidders}}
    if champion is not None:
        bidders["champion"] = champion.policy
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
    settings, logged = given.settings, opened.logged
    rng = np.random.default_rng([settings.evaluation.seed, 23])
    options = LiftOptions(confidence=1 - alpha_of_look(ALPHA), replicates=settings.history.replicates)
    lifts = {key: policy_lift(logged, policy, rng, options) for key, policy in policies.items()}
    against = policies.get("champion")
    return JudgedAgent(
        check,
        lift=lifts["agent"],
        incumbent_lift=None if against is None else policy_lift(logged, policies["agent"], rng, options, against),
        rivals=tuple(lift for key, lift in lifts.items() if key != "agent"),
        groups=group_lifts(logged, policies["agent"], confidence=options.confidence),
        ranking=_ranking(lifts, played),
    )


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
    logged, agent = played[LOGGED_BIDS], played["agent"]
    champion = played.get("champion")
    others = [key for key in played if key not in ("agent", LOGGED_BIDS)]
    return ModelBased(
        lift=lift_between(agent, logged, confidence),
        incumbent_lift=None if champion is None else lift_between(agent, champion, confidence),
        rivals=tuple(lift_between(played[key], logged, confidence) for key in others),
        groups=lifts_by_group(agent, logged, account.estimates, confidence),
        bid_variation=account.bid_variation,
    )


def _harmed(groups: Sequence[GroupLift | PosteriorGroup]) -> float:
    return float(sum(group.upper < -HARM_SHARE for group in groups))


def _weighted_ends(lift: PolicyLift, *, conclusive: bool) -> tuple[float, float, float]:
    report = lift.judged
    if conclusive and report.lift is not None and report.lift_lower is not None and report.lift_upper is not None:
        return report.lift, report.lift_lower, report.lift_upper
    return _NOTHING_KNOWN


def _model_ends(lift: PosteriorLift) -> tuple[float, float, float]:
    return lift.lift, lift.lift_lower, lift.lift_upper


def _interval(name: str, ends: tuple[float, float, float]) -> dict[str, float]:
    value, lower, upper = ends
    return {name: value, f"{name}_lower_95": lower, f"{name}_upper_95": min(upper, _NOTHING_KNOWN[2])}
