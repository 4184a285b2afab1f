"""The report of an incomplete stop says what is stopped, what is not, and what to do now."""

import pytest

from gaelp.budget.kill_switch import PartReport, StopReport
from gaelp.budget.stop_report_text import shortfall


def report(latch, fence, pause):
    outcomes = {"latch": latch, "fence": fence, "pause": pause}
    parts = tuple(
        PartReport(name=name, outcome=each, detail=f"the {name} is odd" if each == "failed" else "")
        for name, each in outcomes.items()
    )
    return StopReport(
        stop_id="s1",
        stopped="done" in (latch, fence),
        complete=not {"failed", "still trying"} & set(outcomes.values()),
        seconds=0.4,
        parts=parts,
    )


def test_of_a_complete_stop_nothing_is_missing():
    assert shortfall(report("done", "none", "done")) == ""


@pytest.mark.parametrize("outcome", ["failed", "still trying"])
def test_without_the_fence_other_machines_are_not_said_to_be_stopped(outcome):
    text = shortfall(report("done", outcome, "done"))
    assert text.startswith(f"STOPPED IN PART (s1). fence {outcome}: ")
    assert "This machine is stopped; others that use the same ledger are NOT until the fence is raised" in text
    assert "repeat `gaelp kill`" in text


@pytest.mark.parametrize("outcome", ["failed", "still trying"])
def test_without_the_pause_campaigns_may_still_run(outcome):
    text = shortfall(report("done", "done", outcome))
    assert "Campaigns may still run: pause them on the platform by hand, now" in text


def test_without_the_latch_the_fence_is_what_stops():
    assert "The fence stops all who use this ledger" in shortfall(report("failed", "done", "done"))


@pytest.mark.parametrize("fence", ["none", "failed", "still trying"])
def test_where_neither_holds_it_is_not_stopped(fence):
    text = shortfall(report("failed", fence, "none"))
    assert text.startswith("NOT STOPPED. latch failed: the latch is odd.")
    assert "Spending may continue, and campaigns may still run: pause them on the platform by hand, now." in text
    assert "is stopped;" not in text


def test_each_part_is_reported_in_one_line():
    assert (
        report("done", "failed", "none").describe_parts() == "latch: done; fence: failed the fence is odd; pause: none"
    )
