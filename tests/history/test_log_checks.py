"""Each thing that may be wrong with a log is named, with its consequence; a sound log has no problem."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from gaelp.config.split_settings import SplitSettings
from gaelp.errors import Refused
from gaelp.history.log_checks import CONSEQUENCES, LogLimits, ProblemKind, check_log
from gaelp.history.logged_campaigns import keep_rows, read_logged
from gaelp.history.split_windows import compute_splits
from gaelp.storage.duckdb_store import DuckDbStore
from gaelp.storage.schema import TableName
from gaelp.storage.store import RowFilter

LIMITS = LogLimits(conversions_min=1)


@pytest.fixture(scope="module")
def logged(log_rows, tmp_path_factory):
    store = DuckDbStore(tmp_path_factory.mktemp("log"))
    store.append(log_rows.history(days=21, segments=("s",)))
    sales = [log_rows.conversion(f"x{n}", "a", "s", n) for n in range(60)]
    store.append({TableName.CONVERSIONS: log_rows.table(TableName.CONVERSIONS, sales)})
    return read_logged(store, RowFilter())


@pytest.fixture(scope="module")
def splits(logged):
    return compute_splits(logged, SplitSettings(validation_days_min=2), history="test")


def with_some(logged, name, value, rows=slice(0, 5)):
    changed = getattr(logged, name).copy()
    changed[rows] = value
    return replace(logged, **{name: changed})


def kinds(check):
    return [problem.kind for problem in check.problems]


def only(check):
    [problem] = check.problems
    return problem


def test_a_sound_log_has_no_problem(logged):
    check = check_log(logged, LIMITS)
    assert check.problems == ()
    assert check.carries_weights
    check.require_usable()


def test_a_log_without_densities_needs_the_path_without_propensities_and_is_not_refused(logged):
    bare = replace(logged, density=np.full(len(logged), np.nan), density_kind=np.zeros(len(logged), np.int8))
    check = check_log(bare, LIMITS)
    assert kinds(check) == [ProblemKind.NO_PROPENSITIES]
    assert check.needs_model
    assert not check.carries_weights
    check.require_usable()


@pytest.mark.parametrize(
    ("density", "kind"),
    [
        (0.0, ProblemKind.ZERO_DENSITIES),
        (-0.3, ProblemKind.NEGATIVE_DENSITIES),
        (-np.inf, ProblemKind.NOT_FINITE_DENSITIES),
        (np.inf, ProblemKind.NOT_FINITE_DENSITIES),
        (np.nan, ProblemKind.NOT_FINITE_DENSITIES),
    ],
)
def test_densities_that_no_action_can_have_are_refused_by_name(logged, density, kind):
    check = check_log(with_some(logged, "density", density), LIMITS)
    assert kinds(check) == [kind]
    assert "5 of" in only(check).observed
    with pytest.raises(Refused, match=kind) as refused:
        check.require_usable()
    assert refused.value.exit_code == 3


def test_some_missing_densities_are_refused_apart_from_those_that_are_not_numbers(logged):
    some = with_some(with_some(logged, "density", np.nan), "density_kind", 0)
    assert kinds(check_log(some, LIMITS)) == [ProblemKind.MISSING_DENSITIES]


def test_the_same_hour_twice_is_refused_and_two_sources_are_told_apart(log_rows, tmp_path):
    store = DuckDbStore(tmp_path)
    once = log_rows.history(days=2)
    store.append(once)
    repeated = [log_rows.decision("a", "s", hour) | {"id": f"again/{hour}"} for hour in range(4)]
    store.append({TableName.DECISIONS: log_rows.table(TableName.DECISIONS, repeated)})
    limits = LogLimits(clicks_min=1, conversions_min=1, days_min=1)
    check = check_log(read_logged(store, RowFilter()), limits)
    assert ProblemKind.REPEATED_ROWS in kinds(check)
    assert "4 of" in next(p.observed for p in check.problems if p.kind == ProblemKind.REPEATED_ROWS)
    store.append(log_rows.history(days=2, source="the same, imported again"))
    check = check_log(read_logged(store, RowFilter()), limits)
    assert {ProblemKind.TWO_SOURCES, ProblemKind.REPEATED_ROWS} <= {*kinds(check)}
    assert "log and the same, imported again" in str(check.of("refuse"))


def test_rows_of_another_window_are_leakage(logged, splits):
    calibration = keep_rows(
        logged, splits.calibration.contains(logged.campaign_names, logged.campaign, logged.account_day)
    )
    calibration = replace(calibration, facts=replace(calibration.facts, newest_report=None))
    others = (splits.validation, splits.sealed)
    assert kinds(check_log(calibration, LIMITS, window=splits.calibration, others=others)) == []
    for other in others:
        leaked = with_some(calibration, "account_day", other.first_day.toordinal())
        problem = only(check_log(leaked, LIMITS, window=splits.calibration, others=others))
        assert problem.kind == ProblemKind.LEAKED_ROWS
        assert other.name in problem.observed
    in_gap = with_some(calibration, "account_day", splits.validation.first_day.toordinal() - 1)
    assert "outside" in only(check_log(in_gap, LIMITS, window=splits.calibration, others=others)).observed


def test_a_report_made_after_the_cut_is_leakage(logged, splits):
    window = splits.calibration
    part = keep_rows(logged, window.contains(logged.campaign_names, logged.campaign, logged.account_day))
    for late, expected in ((timedelta(0), []), (timedelta(seconds=1), [ProblemKind.LEAKED_REPORTS])):
        known = replace(part, facts=replace(part.facts, newest_report=window.known_at + late))
        assert kinds(check_log(known, LIMITS, window=window)) == expected


def test_a_clock_that_goes_backwards_is_refused(logged):
    first = np.flatnonzero((logged.campaign == 0) & (logged.segment == 0))
    step = logged.step.copy()
    step[first[10]], step[first[11]] = step[first[11]], step[first[10]]
    assert kinds(check_log(replace(logged, step=step), LIMITS)) == [ProblemKind.CLOCK_BACKWARDS]
    for name in ("reports_before_their_hour", "conversions_before_their_click"):
        wrong = replace(logged, facts=replace(logged.facts, **{name: 3}))
        assert kinds(check_log(wrong, LIMITS)) == [ProblemKind.CLOCK_BACKWARDS]


def test_spend_without_decisions_is_inconclusive_beyond_its_share(logged):
    total = int(logged.spend_micros.sum())
    for spent, expected in ((total // 1000, []), (total, [ProblemKind.SPEND_WITHOUT_DECISIONS])):
        facts = replace(logged.facts, spend_without_decisions_micros={"ghost": spent})
        check = check_log(replace(logged, facts=facts), LIMITS)
        assert kinds(check) == expected == [problem.kind for problem in check.of("inconclusive")]


def test_too_little_of_anything_is_inconclusive_and_says_how_much_is_needed(logged):
    small = keep_rows(logged, (logged.campaign == 0) & (logged.account_day < logged.account_day.min() + 2))
    check = check_log(small, LogLimits())
    expected = [ProblemKind.FEW_CLICKS, ProblemKind.FEW_CONVERSIONS, ProblemKind.FEW_DAYS, ProblemKind.FEW_CAMPAIGNS]
    assert kinds(check) == expected
    assert "needed: at least 1,000" in str(check.problems[0])
    check.require_usable()  # inconclusive, not wrong
    assert kinds(check_log(keep_rows(logged, np.zeros(len(logged), bool)))) == [ProblemKind.NO_ROWS]


def test_every_kind_has_a_consequence():
    assert {*CONSEQUENCES} == {*ProblemKind}
