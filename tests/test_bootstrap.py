"""From settings to the parts that guard money: they belong together, on either database, and stop together."""

import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gaelp.approvals import ApprovalStore, approvals_place, sign
from gaelp.authority.audit_records import audit_rows
from gaelp.bootstrap import kill_switch, open_books
from gaelp.budget.ledger import AdAccount, Cap, CapKind, LedgerUnavailable, set_limit
from gaelp.cli.main import app
from gaelp.clock import SystemClock
from gaelp.config import load_settings
from gaelp.errors import BadInput, Refused
from gaelp.guard_bootstrap import create_books, open_platform_books, opened_guard
from gaelp.money import Money
from gaelp.observability.alert_routes import open_dispatcher
from gaelp.platforms import Done, Order, Unknown, action_of, guarded, reconcile
from gaelp.platforms.catalog import connect_platform
from gaelp.platforms.verify_orders import order_findings

ACCOUNT = AdAccount("acc", "USD", "UTC")
NAMED = ("platform.name=double", "platform.account=acc", "approvals.policy=live")


@pytest.fixture
def settings_with(installed_double, place, monkeypatch):
    """Settings below an empty home, with the books in either database."""
    if not isinstance(place, Path):
        monkeypatch.setenv("GAELP__BUDGET__DATABASE_URL", place)

    def make(*overrides):
        home = installed_double / ".gaelp"
        return load_settings(None, overrides=[f"home={home}", *(overrides or NAMED)]).settings

    return make


@pytest.fixture
def settings(settings_with):
    """A home with an account that may spend up to $100."""
    made = settings_with()
    with closing(create_books(made, ACCOUNT)) as ledger:
        for kind in (CapKind.ACCOUNT_DAY, CapKind.ACCOUNT):
            set_limit(ledger, Cap(kind, "acc"), Money(100_000_000, "USD"), account_id="acc")
        for kind in (CapKind.CAMPAIGN_DAY, CapKind.CAMPAIGN):
            set_limit(ledger, Cap(kind, "spring"), Money(100_000_000, "USD"), account_id="acc")
        set_limit(ledger, Cap(CapKind.TOTAL, "all"), Money(100_000_000, "USD"))
    return made


@pytest.fixture
def trusted(settings):
    """Ann and Bob are trusted, as the double's tests have them."""
    connect_platform(settings)  # loads the double
    double = sys.modules["platform_double"]
    (Path(settings.home) / "approvers.yaml").write_text(double.trust().model_dump_json())
    return double


def ordered(settings, double, kind="budget", key="b1"):
    """An order that two people have signed, carried out."""
    clock = SystemClock()
    until = clock.now().date() + timedelta(days=5)
    order = Order(
        key=key, kind=kind, campaign="spring", daily_micros=5_000_000, until=until, run_id="r1", requester="cyd"
    )
    with opened_guard(settings) as guard:
        store = guard.authority.store
        action = action_of(order, guard.account, guard.platform.world)
        store.request(action)
        for name in ("ann", "bob"):
            each = sign(
                action,
                double.key_of(name),
                decision="approve",
                reason="seen",
                at=clock.now(),
                valid_for=timedelta(hours=1),
            )
            store.submit(each, guard.authority.policy, guard.authority.trust())
        return guarded(guard, order)


def test_a_signed_order_reaches_the_platform_and_the_books(settings, trusted):
    assert ordered(settings, trusted) == Done()
    [campaign] = connect_platform(settings).read_campaigns()
    assert (campaign.campaign, campaign.daily_micros) == ("spring", 5_000_000)
    with opened_guard(settings) as guard:
        assert reconcile(guard).failures == ()
    with closing(open_books(settings)) as ledger, ledger.snapshot() as connection:
        reserved = connection.exec_driver_sql("SELECT reserved_micros FROM ledger_cap WHERE kind = 'total'").scalar()
    assert reserved == 10_000_000  # twice the budget: the platform may overdeliver


def test_both_verifications_name_an_order_that_was_changed_by_hand(settings, trusted):
    assert ordered(settings, trusted) == Done()
    with closing(open_books(settings)) as ledger:
        assert order_findings(ledger, lambda: audit_rows(settings)) == ()
        with ledger.database.engine.begin() as connection:
            connection.exec_driver_sql("UPDATE platform_order SET daily_micros = 1")
    given = [word for value in (f"home={settings.home}", *NAMED) for word in ("--set", value)]
    for command, exit_code in (("ledger", 1), ("audit", 3)):
        result = CliRunner().invoke(app, [command, "verify", *given])
        assert result.exit_code == exit_code, result.output
        assert "order b1" in result.output
        assert "daily_micros" in result.output


def test_an_order_that_nobody_signed_reaches_nothing(settings, trusted):
    until = SystemClock().now().date()
    order = Order(
        key="b1", kind="budget", campaign="spring", daily_micros=5_000_000, until=until, run_id="r1", requester="cyd"
    )
    with opened_guard(settings) as guard, pytest.raises((Refused, BadInput)):
        guarded(guard, order)
    assert connect_platform(settings).read_campaigns() == ()


def test_one_stop_sets_latch_and_fence_and_pauses_what_runs(settings, trusted):
    ordered(settings, trusted)
    ordered(settings, trusted, kind="enable", key="e1")
    switch = kill_switch(settings)
    switch.stop(by="ann", reason="drill")
    assert [part.outcome for part in switch.wait(10).parts] == ["done", "done", "done"]
    assert [campaign.status for campaign in connect_platform(settings).read_campaigns()] == ["paused"]
    with opened_guard(settings) as guard:
        assert guard.switch.is_stopped()


def test_a_stop_pauses_the_platform_although_the_ledger_is_gone(settings, trusted, monkeypatch):
    ordered(settings, trusted)
    ordered(settings, trusted, kind="enable", key="e1")
    switch = kill_switch(settings)
    monkeypatch.setattr("gaelp.bootstrap.open_ledger", _away)
    switch.stop(by="ann", reason="drill")
    assert [part.outcome for part in switch.wait(10).parts] == ["done", "failed", "done"]
    assert [campaign.status for campaign in connect_platform(settings).read_campaigns()] == ["paused"]


def test_what_the_order_book_knows_is_paused_where_the_platform_gives_no_list(settings, trusted, monkeypatch):
    ordered(settings, trusted)
    ordered(settings, trusted, kind="enable", key="e1")
    monkeypatch.setattr(trusted.PlatformDouble, "read_campaigns", _away)
    switch = kill_switch(settings)
    switch.stop(by="ann", reason="drill")
    [pause] = [part for part in switch.wait(10).parts if part.name == "pause"]
    assert (pause.outcome, "list of campaigns" in pause.detail) == ("failed", True)  # others may run: say so
    monkeypatch.undo()
    state = trusted.PlatformDouble(SystemClock(), path=Path(settings.home) / "double.pickle")
    assert state.campaigns["spring"].status == "paused"


def test_a_stop_names_what_may_still_run_although_the_ledger_is_away_too(settings, trusted, monkeypatch):
    ordered(settings, trusted)
    ordered(settings, trusted, kind="enable", key="e1")

    def fail(*_given, **_named):
        raise OSError("no answer")

    def no_database(*_given, **_named):
        words = "no money is granted; try again with the same key"
        raise LedgerUnavailable(words) from OSError("attempt to write a readonly database")

    monkeypatch.setattr(trusted.PlatformDouble, "pause", fail)
    switch = kill_switch(settings)
    monkeypatch.setattr("gaelp.bootstrap.open_ledger", no_database)
    switch.stop(by="ann", reason="drill")
    [pause] = [part for part in switch.wait(10).parts if part.name == "pause"]
    assert pause.outcome == "failed"
    assert pause.detail.startswith("not everything is paused (spring: ")
    assert "could not be read for other campaigns (the ledger's database did not list its campaigns" in pause.detail
    assert "readonly database" in pause.detail
    assert "granted" not in pause.detail


def test_what_a_platform_says_holds_no_secret_although_nobody_set_up_the_log(settings, trusted, monkeypatch):
    url = "http://127.0.0.1:9/hook/planted-for-the-door"
    monkeypatch.setenv("GAELP__ALERTS__FIRST__WEBHOOK__URL", url)

    def fail(*_given, **_named):
        raise OSError(f"cannot reach {url}")

    monkeypatch.setattr(trusted.PlatformDouble, "set_budget", fail)
    outcome = ordered(settings, trusted)
    assert outcome == Unknown("OSError: cannot reach [redacted]")
    remembered = repr(open_dispatcher(settings, SystemClock())._memory.look())
    assert "outcome-unknown/b1" in remembered
    assert "planted-for-the-door" not in remembered


def _away(*_given, **_named):
    raise OSError("nobody there")


def test_real_money_needs_a_policy_with_signatures(settings, settings_with):
    with (
        pytest.raises(Refused, match="names without signatures"),
        opened_guard(settings_with("platform.name=double", "platform.account=acc")),
    ):
        pass


def test_in_a_sandbox_days_follow_the_platform_and_signatures_the_wall(settings, trusted, monkeypatch):
    simulated = datetime(2031, 3, 8, 12, tzinfo=UTC)
    monkeypatch.setattr(trusted.PlatformDouble, "world", "sandbox")
    monkeypatch.setattr(trusted.PlatformDouble, "now", lambda _: simulated)
    with opened_guard(settings) as guard:
        assert (guard.today(), guard.ledger.clock.now()) == (simulated.date(), simulated)
        for clock in (guard.authority.store.clock, guard.ledger.wall_clock):
            assert abs(clock.now() - datetime.now(UTC)) < timedelta(minutes=1)
        assert abs(guard.wall_now() - datetime.now(UTC)) < timedelta(minutes=1)
    with closing(open_platform_books(settings)) as ledger:
        assert ledger.clock.now() == simulated


@pytest.mark.parametrize("name", ["double", "missing", None])
def test_where_real_money_may_move_or_nobody_answers_days_follow_the_wall(settings, settings_with, name):
    named = ("platform.name=null", "platform.account=null") if name is None else (f"platform.name={name}", *NAMED[1:])
    with closing(open_platform_books(settings_with(*named))) as ledger:
        assert abs(ledger.clock.now() - datetime.now(UTC)) < timedelta(minutes=1)
        assert ledger.has_wall_time


def test_how_far_a_bid_may_move_is_a_setting(settings, settings_with):
    with opened_guard(settings_with(*NAMED, "budget.bid_change_percent=15")) as guard:
        assert guard.bid_change_percent == 15


def test_an_account_without_a_limit_for_a_day_has_no_door(settings_with):
    made = settings_with()
    create_books(made, ACCOUNT).close()
    with pytest.raises(BadInput, match="gaelp ledger limit account_day acc"), opened_guard(made):
        pass


def test_approvals_and_ledger_are_in_the_same_place(settings, place):
    ApprovalStore(approvals_place(settings), SystemClock())
    if isinstance(place, Path):
        names = {path.name for path in Path(settings.home).iterdir()}
        assert {"ledger.db", "approvals.db"} <= names
    else:
        assert approvals_place(settings) == place
        assert not (Path(settings.home) / "ledger.db").exists()


def test_books_are_begun_once_and_keep_their_currency(settings_with):
    made = settings_with()
    for _ in range(2):
        create_books(made, ACCOUNT).close()
    with pytest.raises(BadInput, match="has USD"):
        create_books(made, AdAccount("acc", "EUR", "UTC"))
