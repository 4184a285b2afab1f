"""Who pulled a stop that is not complete is told what holds, what does not, and what to do now."""

import pytest

from gaelp.budget.kill_switch import PartReport, StopReport
from gaelp.budget.stop_report_text import shortfall, told_parts


def report(latch, fence, pause):
    outcomes = {"latch": latch, "fence": fence, "pause": pause}
    parts = tuple(
        PartReport(name=name, outcome=one, detail=f"the {name} is odd" if one == "failed" else "")
        for name, one in outcomes.items()
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
    told = shortfall(report("done", outcome, "done"))
    assert told.startswith(f"STOPPED IN PART (s1). fence {outcome}: ")
    assert "This machine is stopped; others that use the same ledger are NOT until the fence is raised" in told
    assert "repeat `gaelp kill`" in told


@pytest.mark.parametrize("outcome", ["failed", "still trying"])
def test_without_the_pause_campaigns_may_still_run(outcome):
    told = shortfall(report("done", "done", outcome))
    assert "Campaigns may still run: pause them on the platform by hand, now" in told


def test_without_the_latch_the_fence_is_what_stops():
    assert "The fence stops all who use this ledger" in shortfall(report("failed", "done", "done"))


@pytest.mark.parametrize("fence", ["none", "failed", "still trying"])
def test_where_neither_holds_it_is_not_stopped(fence):
    told = shortfall(report("failed", fence, "none"))
    assert told.startswith("NOT STOPPED. latch failed: the latch is odd.")
    assert "Spending may go on, and campaigns may still run: pause them on the platform by hand, now." in told
    assert "is stopped;" not in told


def test_each_part_is_told_in_one_line():
    assert told_parts(report("done", "failed", "none")) == "latch: done; fence: failed the fence is odd; pause: none"
