"""Evidence that a gate lets through, to be spoiled one figure at a time.

tests/conftest.py loads it by its path, for tests are not a package.
"""

from datetime import UTC, datetime

from gaelp.gates import Evidence
from gaelp.gates.metrics import RANGES

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


def passing_metrics(gate):
    """Possible figures that keep every rule with room to spare, from samples just large enough."""
    metrics = {}
    for rule in gate.criteria:
        metrics |= dict.fromkeys((rule.metric, rule.figure), _beyond(rule))
    for rule in gate.criteria:
        metrics[rule.sample_metric] = max(metrics.get(rule.sample_metric, 0), float(rule.minimum_sample))
    return metrics


def passing(gate, **changes):
    """Evidence measured now that keeps every rule of the gate."""
    values = {"run_id": "20261116-020641-7f3a9c", "agent": "agent (ppo)", "learned": True, "config_hash": "c0ffee"}
    return Evidence(**{**values, "measured_at": NOW, "metrics": passing_metrics(gate), **changes})


def _beyond(rule):
    possible = RANGES[rule.metric]
    step = 1 if possible.whole else 0.01
    return max(rule.threshold + (step if rule.limit.asks_for_more else -step), possible.lowest)
