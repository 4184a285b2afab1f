"""Every rule-based bidder: how it bids, its parameters and their ranges, and how to build it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from gaelp.config.base import Frozen
from gaelp.market.baselines.bids import Bidder, LaunchParameters
from gaelp.market.baselines.constant import Constant, ConstantParameters, Random, RandomParameters
from gaelp.market.baselines.creatives import WithCreatives
from gaelp.market.baselines.dynamic_programming import Rlb, SsMdp
from gaelp.market.baselines.linear import Lin, Mcpc
from gaelp.market.baselines.model_predictive import ModelPredictive, ModelPredictiveParameters
from gaelp.market.baselines.online_lp import OnlineLp, OnlineLpParameters
from gaelp.market.baselines.pacing import Multiplicative, MultiplicativeParameters, Pid, PidParameters
from gaelp.market.baselines.values import SignalWeights, ValueParameters, Values

__all__ = [
    "CATALOG",
    "CONSTANT",
    "InformedMpcParameters",
    "InformedOnlineLpParameters",
    "Kind",
    "LinParameters",
    "McpcParameters",
    "RlbParameters",
    "SsMdpParameters",
]

_AGGRESSION = "log factor on every bid"


class LinParameters(Frozen):
    """Bids in proportion to value."""

    values: ValueParameters = ValueParameters()
    launch: LaunchParameters = LaunchParameters()


class McpcParameters(Frozen):
    """Bids chance of a click x what a click may cost."""

    values: ValueParameters = ValueParameters()
    aggression: float = Field(default=-0.5, ge=-3, le=2, description=_AGGRESSION)


class SsMdpParameters(Frozen):
    """Dynamic programming, one bid for all segments."""

    aggression: float = Field(default=0.0, ge=-1, le=1, description=_AGGRESSION)


class RlbParameters(Frozen):
    """Dynamic programming, each segment's own value."""

    values: ValueParameters = ValueParameters()
    aggression: float = Field(default=0.0, ge=-1, le=1, description=_AGGRESSION)


class InformedOnlineLpParameters(Frozen):
    """OnlineLP that knows how value moves with hour and price."""

    rule: OnlineLpParameters = OnlineLpParameters()
    signals: SignalWeights = SignalWeights()


class InformedMpcParameters(Frozen):
    """MPC that knows how value moves with hour and price."""

    rule: ModelPredictiveParameters = ModelPredictiveParameters()
    signals: SignalWeights = SignalWeights()


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of bidder; `key` names it in files, the name of what it builds in tables."""

    key: str
    summary: str  # how it bids, in one sentence without a full stop
    parameters: type[Frozen]
    _construct: Callable[[Any], Bidder]
    informed: bool = False

    def build(self, values: Mapping[str, Any] | Frozen | None = None) -> Bidder:
        """A bidder with these parameters, the defaults for those left out; creatives are chosen for it."""
        return WithCreatives(self._construct(self.parameters.model_validate(values or {})))


CONSTANT = Kind("constant", "one bid for all segments and hours", ConstantParameters, Constant)

CATALOG: tuple[Kind, ...] = (
    Kind("random", "random bids around the constant one", RandomParameters, Random),
    CONSTANT,
    Kind(
        "mcpc",
        "chance of a click times the most a click may cost",
        McpcParameters,
        lambda p: Mcpc(aggression=p.aggression, values=Values(p.values)),
    ),
    Kind(
        "lin",
        "a tuned base bid times value over average value",
        LinParameters,
        lambda p: Lin(base_log=p.launch.bid_log, share_exponent=p.launch.share_exponent, values=Values(p.values)),
    ),
    Kind(
        "ss-mdp",
        "dynamic programming over time and budget, one bid for all",
        SsMdpParameters,
        lambda p: SsMdp(aggression=p.aggression),
    ),
    Kind(
        "rlb",
        "the same dynamic programme with each segment's own value",
        RlbParameters,
        lambda p: Rlb(aggression=p.aggression, values=Values(p.values)),
    ),
    Kind("pid", "bids by value; a PID controller keeps spend on plan", PidParameters, Pid),
    Kind(
        "eb-pacing",
        "empirical-Bayes values; a factor paces spend each hour",
        MultiplicativeParameters,
        Multiplicative,
    ),
    Kind("online-lp", "online linear programme: learns the price of budget", OnlineLpParameters, OnlineLp),
    Kind(
        "mpc",
        "model predictive control: replans the rest every hour",
        ModelPredictiveParameters,
        ModelPredictive,
    ),
    Kind(
        "online-lp-informed",
        "online-lp that knows how hour and price relate to value",
        InformedOnlineLpParameters,
        lambda p: OnlineLp(p.rule, p.signals),
        informed=True,
    ),
    Kind(
        "mpc-informed",
        "mpc that knows how hour and price relate to value",
        InformedMpcParameters,
        lambda p: ModelPredictive(p.rule, p.signals),
        informed=True,
    ),
)
