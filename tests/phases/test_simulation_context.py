"""Beside the verdict on phase 1: what was judged, the bidders it was compared with, and how it learned."""

import json

import pytest

from gaelp.config.write import write_models
from gaelp.market.baselines.compare import Estimate
from gaelp.phases.simulation_context import _group_text, simulation_context
from gaelp.phases.simulation_result import SimulationResult, as_phase_result


@pytest.fixture
def context_of(copied, whole):
    """Read the context of the copied run, as it is now."""
    folder = copied.run_folder("whole")
    result = as_phase_result(whole.result, folder)
    return lambda: simulation_context(result, copied.folder / "home")


def test_market_config_training_seeds_and_episodes_are_named(context_of):
    facts = dict(context_of().facts)
    assert facts["market"].startswith("tiny")
    assert facts["config"] == "not recorded: the run was begun outside the pipeline"
    assert facts["training"] == "ppo starting from the rule mpc, 4 of 4 rounds"
    assert facts["seeds"].startswith("7 for training, 1009 for evaluation")
    assert facts["episodes"].startswith("16 held-out episodes")
    assert facts["on a market with other parameters"].startswith("reward 0.")


def test_bidders_are_ranked_by_reward_and_the_agent_is_among_them(whole, context_of):
    bidders = context_of().bidders
    assert {bidder.name for bidder in bidders} == {"constant", "lin", "mpc", whole.result.agent}
    assert [bidder.reward for bidder in bidders] == sorted((bidder.reward for bidder in bidders), reverse=True)
    assert sum("The best of the rules" in bidder.meaning for bidder in bidders) == 1
    explained = {bidder.name: bidder.meaning for bidder in bidders}
    assert explained["constant"].startswith("One bid for all segments and hours.")


def test_every_bidder_has_the_same_figures_of_money(context_of):
    labels = {tuple(label for label, _ in bidder.money) for bidder in context_of().bidders}
    assert labels == {("spend", "of budget", "value", "ROAS", "CPA", "profit")}


@pytest.mark.parametrize(
    ("group", "text"),
    [
        ("price, 1 of 10", "sorted by price, slice 1 of 10 (the lowest)"),
        ("price, 10 of 10", "sorted by price, slice 10 of 10 (the highest)"),
        ("volume, 3 of 10", "sorted by volume, slice 3 of 10 (1 is the lowest, 10 the highest)"),
    ],
)
def test_the_worst_group_says_which_end_of_the_order_it_is_at(group, text):
    assert _group_text(group) == text


def test_the_curve_has_one_point_for_each_validation(copied, context_of):
    log = copied.run_folder("whole").training_log
    with log.open("a", encoding="utf-8") as file:
        file.write('{"report": "Validated", "rou')  # a killed process
    reports = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()[:-1]]
    leads = {report["round"]: report["score"]["lead"] for report in reports if report["report"] == "Validated"}
    curve = context_of().curve
    assert {point.round: point.value for point in curve.points} == leads
    assert curve.zero == "no better than mpc"
    assert all(point.lower_95 <= point.value <= point.upper_95 for point in curve.points)


@pytest.mark.parametrize(
    ("learned", "lead", "text"),
    [
        (False, (0, 0, 0), "No better than the rule it started from (mpc): no checkpoint did better"),
        (
            True,
            (0.001, -0.001, 0.003),
            "No better than the rule it started from (mpc): its lead of +0.10% (-0.10% ..",
        ),
        (True, (0.02, 0.01, 0.03), "Better than the rule it started from (mpc): its lead is +2.00% (+1.00% .. +3.00%)"),
        (True, (-0.02, -0.03, -0.01), "Worse than the rule it started from (mpc)"),
    ],
)
def test_it_is_said_whether_the_agent_beats_the_rule_it_started_from(copied, context_of, learned, lead, text):
    folder = copied.run_folder("whole")
    details = SimulationResult.model_validate_json(folder.details.read_bytes())
    estimate = Estimate(value=lead[0], lower_95=lead[1], upper_95=lead[2])
    results = tuple(
        bidder.model_copy(update={"lead_over_best": estimate}) if bidder.policy == details.agent else bidder
        for bidder in details.comparison.results
    )
    comparison = details.comparison.model_copy(update={"results": results, "best_uninformed": "mpc"})
    write_models({folder.details: details.model_copy(update={"learned": learned, "comparison": comparison})})
    assert context_of().progress.startswith(text)


@pytest.mark.parametrize("name", ["details", "identity", "training_log"])
@pytest.mark.parametrize("content", [None, b"{}", b"\xff", b"[1]"])
def test_a_record_that_cannot_be_read_is_named_and_closes_no_gate(copied, context_of, name, content):
    path = getattr(copied.run_folder("whole"), name)
    path.unlink() if content is None else path.write_bytes(content)
    context = context_of()
    if name == "training_log" and content in (b"{}", b"[1]"):
        assert context.curve is None
    else:
        [(label, text)] = context.facts
        assert (label, text[:15]) == ("records of the run", "cannot be read:")
