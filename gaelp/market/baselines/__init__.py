"""Bidders by rule, which every learned one is measured against: the rules, their tuner and the comparison."""

from gaelp.market.baselines.catalog import CATALOG, CONSTANT, Kind
from gaelp.market.baselines.compare import Comparison, Estimate, PolicyResult
from gaelp.market.baselines.constant import Constant, Random
from gaelp.market.baselines.dynamic_programming import Rlb, SsMdp, UnitPrices
from gaelp.market.baselines.episodes import held_out_seeds, play, training_seeds
from gaelp.market.baselines.linear import Lin, Mcpc
from gaelp.market.baselines.model_predictive import ModelPredictive
from gaelp.market.baselines.online_lp import OnlineLp
from gaelp.market.baselines.pacing import Multiplicative, Pid
from gaelp.market.baselines.published import published_table
from gaelp.market.baselines.tune import Search
from gaelp.market.baselines.tuned import TunedRules, load_tuned
from gaelp.market.baselines.values import SignalWeights, ValueParameters, Values
from gaelp.market.baselines.worth import PriorValues, ValueSource

__all__ = [
    "CATALOG",
    "CONSTANT",
    "Comparison",
    "Constant",
    "Estimate",
    "Kind",
    "Lin",
    "Mcpc",
    "ModelPredictive",
    "Multiplicative",
    "OnlineLp",
    "Pid",
    "PolicyResult",
    "PriorValues",
    "Random",
    "Rlb",
    "Search",
    "SignalWeights",
    "SsMdp",
    "TunedRules",
    "UnitPrices",
    "ValueParameters",
    "ValueSource",
    "Values",
    "held_out_seeds",
    "load_tuned",
    "play",
    "published_table",
    "training_seeds",
]
