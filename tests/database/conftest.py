"""Evidence that a gate lets through, to be spoiled one figure at a time."""

from datetime import UTC, datetime

import pytest

from gaelp.gates import Evidence
from gaelp.gates.metrics import RANGES

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


def beyond(rule):
    """A possible figure that keeps a rule with room to spare."""
    possible = RANGES[rule.metric]
    step = 1 if possible.whole else 0.01
    return max(rule.threshold + (step if rule.limit.asks_for_more else -step), possible.lowest)


@pytest.fixture
def now():
    return NOW


@pytest.fixture
def passing():
    """For a gate: evidence measured now that keeps every rule with room to spare."""

    def evidence_for(gate, **changes):
        metrics = {}
        for rule in gate.criteria:
            metrics |= dict.fromkeys((rule.metric, rule.figure), beyond(rule))
        for rule in gate.criteria:
            metrics[rule.sample_metric] = max(metrics.get(rule.sample_metric, 0), float(rule.minimum_sample))
        values = {"run_id": "20261116-020641-7f3a9c", "agent": "agent (ppo)", "learned": True, "config_hash": "c0ffee"}
        return Evidence(**{**values, "measured_at": NOW, "metrics": metrics, **changes})

    return evidence_for
