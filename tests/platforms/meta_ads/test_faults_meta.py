"""Faults of the API never make two campaigns, budgets or adverts for one key, and leave every key in a known state."""

from datetime import timedelta

import pytest

from gaelp.content import Creative, creative_hash
from gaelp.platforms import Done, Rejected, Unknown

ADVERT = Creative(id="a1", headline="Fresh bread", description="Baked today.", landing_url="https://shop.example/bread")
FAULTS = [
    {"effect": "error", "status": "400", "when": "after"},
    {"effect": "error", "status": "503", "when": "before"},
    {"effect": "lost", "seconds": 0.01, "when": "after"},
    {"effect": "twice"},
]
OTHERS = [
    {"effect": "error", "status": "400", "when": "before"},
    *(
        {"effect": "error", "status": status, "when": when}
        for status in ("401", "403", "404", "429", "500", "502", "504")
        for when in ("before", "after")
    ),
    {"effect": "error", "status": "503", "when": "after"},
    {"effect": "lost", "seconds": 0.01, "when": "before"},
    {"effect": "delay", "seconds": 0.01},
]
CHANGES = {
    "new campaign": lambda platform, key: platform.set_budget("new", 5_000_000, _day(platform), key=key),
    "set_budget": lambda platform, key: platform.set_budget("one", 7_000_000, _day(platform), key=key),
    "publish": lambda platform, key: platform.publish("one", ADVERT, key=key),
    "set_bids": lambda platform, key: platform.set_bids("one", {"group-1": 250_000, "group-2": 300_000}, key=key),
    "enable": lambda platform, key: platform.enable("one", key=key),
}


def _day(platform):
    return platform.now().date() + timedelta(days=3)


def prepared(sandbox):
    platform = sandbox.connect()
    assert platform.set_budget("one", 5_000_000, _day(platform), key="k1") == Done()
    assert platform.set_bids("one", {"group-1": 200_000}, key="k2") == Done()
    return platform


def expected(platform, change):
    """What the campaigns are once the change was made; names and values that must be there exactly once."""
    states = {state.campaign: state for state in platform.read_campaigns()}
    return {
        "new campaign": lambda: states["new"].daily_micros == 5_000_000,
        "set_budget": lambda: states["one"].daily_micros == 7_000_000,
        "publish": lambda: states["one"].creatives == (creative_hash(ADVERT),),
        "set_bids": lambda: states["one"].bids == (("group-1", 250_000), ("group-2", 300_000)),
        "enable": lambda: states["one"].status == "enabled",
    }[change]()


@pytest.mark.parametrize("faults", [FAULTS, pytest.param(OTHERS, marks=pytest.mark.slow)], ids=["usual", "others"])
@pytest.mark.parametrize("change", CHANGES)
def test_each_fault_of_each_change_ends_in_a_known_state(sandbox, change, faults):
    for fault in faults:
        platform = prepared(sandbox)
        before = platform.read_campaigns()
        sandbox.fail(fault["effect"], **{name: value for name, value in fault.items() if name != "effect"})
        outcome = CHANGES[change](platform, "k3")
        names = [state.campaign for state in platform.read_campaigns()]
        assert len(names) == len(set(names)), f"{fault}: {names}"
        match outcome:
            case Done():
                assert expected(platform, change), fault
                assert platform.look_up("k3") == Done()
            case Rejected():
                assert platform.read_campaigns() == before, fault
                assert platform.look_up("k3") is None
            case Unknown():
                pytest.fail(f"{fault}: the server can be asked, so {outcome} can be known")
        assert CHANGES[change](platform, "k4" if isinstance(outcome, Rejected) else "k3") == Done()
        assert expected(platform, change), fault
        names = [target for state in platform.read_campaigns() for target, _ in state.bids]
        assert len(names) == len(set(names)), f"{fault}: {names}"


def test_a_pause_succeeds_although_its_answer_is_lost_or_an_error(sandbox):
    for fault in FAULTS:
        platform = prepared(sandbox)
        assert platform.enable("one", key="e") == Done()
        sandbox.fail(fault["effect"], **{name: value for name, value in fault.items() if name != "effect"})
        first = platform.pause("one", key="p1")
        assert first == Done() or isinstance(first, Unknown)
        assert platform.pause("one", key="p2") == Done()
        assert platform.read_campaigns()[0].status == "paused"


def test_reads_are_retried(sandbox):
    platform = prepared(sandbox)
    sandbox.fail("error", "error", method="GET *", status="503")
    assert len(platform.read_campaigns()) == 1


def test_a_request_that_arrives_twice_makes_one_campaign(sandbox):
    platform = sandbox.connect()
    sandbox.fail("twice", method="POST /act_*/campaigns")
    assert platform.set_budget("one", 5_000_000, _day(platform), key="k1") == Done()
    assert [state.campaign for state in platform.read_campaigns()] == ["one"]
