"""The local ad platform as the account of a pilot."""

from contextlib import closing
from datetime import timedelta

import pytest

from gaelp.approvals import trusted_approvers
from gaelp.authority.audit_records import open_approvals
from gaelp.bootstrap import kill_switch
from gaelp.budget.platform_budget import load_platform_terms
from gaelp.clock import SystemClock, account_day
from gaelp.errors import BadInput
from gaelp.guard_bootstrap import create_books, opened_guard
from gaelp.pilot.local_account import running_local_account, synthesized
from gaelp.pilot.mandate_signing import require_mandate
from gaelp.pilot.pilot_budgets import with_campaign_budgets
from gaelp.pilot.pilot_limits import provide_limits
from gaelp.platforms import Done, Order, guarded
from gaelp.platforms.catalog import connect_platform
from gaelp.platforms.order import Bid
from gaelp.platforms.platform_clock import ledger_clock
from gaelp.platforms.rule_inputs import check_money_rules
from gaelp.sandbox.history_specs import history_end, history_specs

TERMS = load_platform_terms().of("google-ads")


def test_without_a_synthesized_history_there_is_no_world_to_continue(tmp_path, account_parts):
    settings = account_parts.settings_of(tmp_path)
    without = settings.model_copy(update={"history": settings.history.model_copy(update={"synthesize": None})})
    with (
        pytest.raises(BadInput, match=r"history\.synthesize is not set"),
        running_local_account(without, tmp_path / "platform", pilot="run-1"),
    ):
        pass


def test_each_campaign_has_a_value_and_a_weekly_loss_cap(tmp_path, account_parts):
    settings = account_parts.settings_of(tmp_path)
    plan = account_parts.plan_of(settings)
    budgets = with_campaign_budgets(settings, plan).budget
    check_money_rules(budgets)
    own = budgets.campaigns[plan.campaigns[0].name]
    assert own.conversion_value_micros == plan.campaigns[0].conversion_value_micros
    assert own.loss_cap_micros == 4 * 25_000_000 + 4 * plan.campaigns[0].conversion_value_micros


def test_what_the_settings_say_of_a_campaign_is_kept(tmp_path, account_parts):
    settings = account_parts.settings_of(tmp_path)
    plan = account_parts.plan_of(settings)
    given = account_parts.settings_of(
        tmp_path,
        f"budget.campaigns.{plan.campaigns[0].name}.conversion_value_micros=9000000",
        "budget.loss_cap_micros=77000000",
    )
    own = with_campaign_budgets(given, plan).budget.campaigns[plan.campaigns[0].name]
    assert (own.conversion_value_micros, own.loss_cap_micros) == (9_000_000, 77_000_000)


def _ordered(guard, plan, mandate, kind, number, **more):
    campaign = plan.campaigns[0]
    return guarded(
        guard,
        Order(
            key=f"{kind}-{number}",
            kind=kind,
            campaign=campaign.name,
            daily_micros=campaign.daily_micros,
            until=plan.first_day,
            run_id="run-1",
            requester="agent",
            mandate=mandate,
            model_hash=plan.model_hash,
            **more,
        ),
    )


@pytest.mark.slow
def test_an_agent_can_spend_on_it_under_the_mandate_and_the_world_survives_a_kill(tmp_path, account_parts):
    settings = account_parts.settings_of(tmp_path / "home")
    folder = tmp_path / "attempt" / "platform"
    spec, world = history_specs(synthesized(settings), settings.run.seed)
    with running_local_account(settings, folder, pilot="run-1") as local:
        assert local.platform.now() == history_end(spec, world)
        platform = connect_platform(local.settings)
        assert (platform.world, platform.now()) == ("sandbox", history_end(spec, world))
        today = account_day(platform.now(), local.account.time_zone)
        plan = account_parts.plan_of(settings, first_day=today, account=local.account.id)
        derived = with_campaign_budgets(local.settings, plan)
        with closing(create_books(derived, local.account, ledger_clock(platform, SystemClock()))) as ledger:
            provide_limits(derived, platform.world, ledger, plan, TERMS)
            mandate = require_mandate(
                derived,
                platform.world,
                ledger,
                open_approvals(derived),
                plan,
                TERMS,
                trusted_approvers(derived),
                stop=kill_switch(derived).state(),
            )
        campaign = plan.campaigns[0]
        bids = zip(campaign.targets, campaign.reference_bids_micros, strict=True)
        with opened_guard(derived) as guard:
            assert _ordered(guard, plan, mandate, "budget", 1) == Done()
            assert _ordered(guard, plan, mandate, "publish", 1, creative=campaign.creative) == Done()
            assert (
                _ordered(guard, plan, mandate, "bid", 1, bids=tuple(Bid(target=t, micros=b) for t, b in bids)) == Done()
            )
            assert _ordered(guard, plan, mandate, "enable", 1) == Done()
        local.platform.advance_by(20 * 3600)
        hours = platform.read_hours(history_end(spec, world)).hours
        assert {hour.target for hour in hours} <= set(campaign.targets)
        assert sum(hour.clicks for hour in hours) > 0
        left = local.platform.now()
        local.platform.kill()
    with running_local_account(settings, folder, pilot="run-1") as again:
        assert again.platform.now() == left
        platform = connect_platform(again.settings)
        assert [state.campaign for state in platform.read_campaigns()] == [campaign.name]
        assert platform.read_hours(left - timedelta(hours=20)).hours[: len(hours)] == hours
