"""The page Prometheus reads, parsed back, and the dashboard that asks for what is on it."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import ValidationError

from gaelp.observability.metrics import METRIC_NAMES, CapFigures, MoneyFigures, MoneyMetrics

DASHBOARD = Path(__file__).resolve().parents[2] / "deploy/grafana/gaelp-money.json"
READ_AT = datetime(2026, 11, 16, 12, tzinfo=UTC)
DAY = CapFigures(kind="account-day", scope="2026-11-16", limit_micros=100, reserved_micros=30, posted_micros=50)
TOTAL = CapFigures(kind="total", scope='odd "name"\\ \n', limit_micros=2**53, reserved_micros=1, posted_micros=2)


def figures(**changes):
    values = {"caps": (DAY, TOTAL), "open_violations": {"critical": 2}, "resolved_violations": {"info": 5}}
    return MoneyFigures(**{**values, "kill_state": "running", "read_at": READ_AT, **changes})


def shown(metrics):
    """Every sample of the page: name and labels to value."""
    families = text_string_to_metric_families(metrics.exposition().decode())
    samples = [sample for family in families for sample in family.samples]
    read = {(sample.name, tuple(sorted(sample.labels.items()))): sample.value for sample in samples}
    assert len(read) == len(samples)
    return read


def page(given=None):
    metrics = MoneyMetrics(now_seconds=lambda: READ_AT.timestamp() + 90)
    metrics.set(given or figures())
    return shown(metrics)


def cap(name, of):
    return (f"gaelp_cap_{name}_micros", (("kind", of.kind), ("scope", of.scope)))


def test_the_page_says_what_is_reserved_posted_and_left_of_each_cap():
    read = page()
    assert [read[cap(part, DAY)] for part in ("limit", "reserved", "posted", "headroom")] == [100, 30, 50, 20]
    assert read[cap("headroom", TOTAL)] == 2**53 - 3


def test_every_severity_is_named_open_and_resolved_zeros_too():
    read = {labels: value for (name, labels), value in page().items() if name == "gaelp_violations"}
    assert len(read) == 6
    assert read[("severity", "critical"), ("state", "open")] == 2
    assert read[("severity", "info"), ("state", "resolved")] == 5
    assert sum(read.values()) == 7


@pytest.mark.parametrize(("state", "stopped"), [("running", 0), ("stopped", 1), ("unreadable", 1)])
def test_only_a_switch_known_to_be_open_counts_as_running(state, stopped):
    read = page(figures(kill_state=state))
    assert read["gaelp_spending_stopped", ()] == stopped
    states = {dict(labels)["state"]: value for (name, labels), value in read.items() if name == "gaelp_kill_state"}
    assert states == {name: float(name == state) for name in ("running", "stopped", "unreadable")}


def test_without_figures_spending_counts_as_stopped_and_no_cap_is_shown():
    metrics = MoneyMetrics()
    for _ in range(2):
        read = shown(metrics)
        assert read["gaelp_spending_stopped", ()] == 1
        assert read["gaelp_kill_state", (("state", "unreadable"),)] == 1
        assert not [name for name, _ in read if name.startswith("gaelp_cap")]
        metrics.set(figures())
        metrics.set(None)


def test_a_cap_that_is_gone_leaves_no_stale_figure():
    metrics = MoneyMetrics()
    metrics.set(figures())
    metrics.set(figures(caps=(DAY,)))
    assert cap("headroom", TOTAL) not in shown(metrics)


def test_the_page_tells_how_old_its_figures_are():
    assert page()["gaelp_money_figures_age_seconds", ()] == 90


def test_headroom_below_zero_is_shown_as_it_is():
    over = DAY.model_copy(update={"posted_micros": 90})
    assert page(figures(caps=(over,)))[cap("headroom", over)] == -20


def test_one_cap_given_twice_is_refused():
    with pytest.raises(ValidationError, match="same kind and scope"):
        figures(caps=(DAY, DAY))


def test_two_sets_of_metrics_do_not_share_a_registry():
    first, second = MoneyMetrics(), MoneyMetrics()
    first.set(figures())
    assert shown(second)["gaelp_spending_stopped", ()] == 1


def test_every_metric_that_is_promised_is_on_the_page():
    assert {name for name, _ in page()} == set(METRIC_NAMES)


def queries():
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    yield from (target["expr"] for panel in board["panels"] for target in panel["targets"])
    yield from (item["query"]["query"] for item in board["templating"]["list"] if item["type"] == "query")


def test_every_query_of_the_dashboard_asks_for_metrics_and_labels_that_exist():
    labels = {name: {label for key, pairs in page() for label, _ in pairs if key == name} for name in METRIC_NAMES}
    asked = set()
    for query in queries():
        named = set(re.findall(r"gaelp_\w+", query))
        assert named, f"{query!r} asks for no metric"
        assert named <= set(METRIC_NAMES), query
        wanted = set(re.findall(r"(\w+)\s*=~?\s*\"", query)) | set(re.findall(r"label_values\(\w+, (\w+)\)", query))
        grouped = {label.strip() for group in re.findall(r"by \(([^)]*)\)", query) for label in group.split(",")}
        assert all(wanted | grouped <= labels[name] for name in named), query
        asked |= named
    assert asked == set(METRIC_NAMES)


def test_the_dashboard_shows_each_panel_once_and_side_by_side():
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for spot in (panel["gridPos"] for panel in panels)
        for x in range(spot["x"], spot["x"] + spot["w"])
        for y in range(spot["y"], spot["y"] + spot["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
