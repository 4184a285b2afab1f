"""Faults: which call gets which, how often, and what a plan may say."""

import pytest
from pydantic import ValidationError

from gaelp.sandbox.faults import GRPC_STATUSES, Fault, FaultInjector, FaultPlan

MUTATE = "CampaignService.MutateCampaigns"


def unavailable(**changes) -> Fault:
    return Fault(front="google", effect="error", status="UNAVAILABLE", **changes)


def test_a_call_that_no_fault_names_succeeds():
    injector = FaultInjector(FaultPlan(faults=(unavailable(method="*.Mutate*"),)))
    assert injector.next_fault("google", "GoogleAdsService.Search") is None
    assert injector.next_fault("meta", MUTATE) is None
    assert injector.next_fault("google", MUTATE) is not None


def test_a_fault_happens_as_often_as_it_says_after_the_calls_it_lets_pass():
    injector = FaultInjector(FaultPlan(faults=(unavailable(skip=2, times=3),)))
    assert [injector.next_fault("google", MUTATE) is not None for _ in range(7)] == [
        False,
        False,
        True,
        True,
        True,
        False,
        False,
    ]
    assert injector.due() == FaultPlan()


def test_a_fault_without_a_number_stays_until_it_is_taken_away():
    injector = FaultInjector()
    injector.add([unavailable(times=None)])
    assert all(injector.next_fault("google", MUTATE) for _ in range(20))
    injector.replace(FaultPlan())
    assert injector.next_fault("google", MUTATE) is None


def test_the_first_fault_that_applies_wins():
    late = Fault(front="google", effect="delay", seconds=1.0)
    injector = FaultInjector(FaultPlan(faults=(unavailable(), late)))
    assert [injector.next_fault("google", MUTATE).effect for _ in range(2)] == ["error", "delay"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"effect": "error", "status": "BROKEN"}, "UNAVAILABLE"),
        ({"effect": "error"}, "not a gRPC status"),
        ({"effect": "lost"}, "needs seconds"),
        ({"effect": "twice", "status": "INTERNAL"}, "has no meaning"),
        ({"front": "meta", "effect": "error", "status": "200"}, "400 to 599"),
    ],
)
def test_a_fault_that_makes_no_sense_is_refused_with_what_would(values, words):
    with pytest.raises(ValidationError, match=words):
        Fault.model_validate({"front": "google", **values})


def test_a_plan_survives_json():
    faults = tuple(Fault(front="google", effect="error", status=status, when="after") for status in GRPC_STATUSES)
    plan = FaultPlan(
        faults=(*faults, Fault(front="meta", effect="error", status="503", method="POST /act_*/campaigns"))
    )
    assert FaultPlan.model_validate_json(plan.model_dump_json()) == plan
