"""A release on the platform double: what a stop and a rollback leave in force and on record."""

from contextlib import closing

import pytest

from gaelp.pilot.decision_book import DecisionBook
from gaelp.pilot.loop import PilotLoop
from gaelp.release.incident import INCIDENT_FILE
from gaelp.release.release_record import incident_event
from gaelp.release.running_release import controller_of
from tests.pilot.double_pilot import DoublePilot
from tests.release.release_loop import build_run, release_plan, run_release


@pytest.fixture
def pilot(tmp_path):
    made = DoublePilot(tmp_path, days=3, loss_cap_micros=10**12)
    yield made
    made.door.ledger.close()


def options_of(pilot):
    return {
        "folder": pilot.folder,
        "mandate": pilot.mandate,
        "place": pilot.folder / "pilot.db",
        "timekeeper": pilot.traffic,
        "budget": pilot.settings.budget,
        "settings": pilot.settings.pilot,
        "wall_clock": pilot.clock,
    }


def test_the_kill_switch_pauses_a_release_and_its_days_are_known_when_it_is_started_again(pilot):
    plan = release_plan(pilot.plan)
    pilot.traffic.at_hour[30] = lambda: pilot.door.guard.switch.stop(by="ann", reason="enough")
    assert run_release(pilot.door.guard, plan, pilot.agent, **options_of(pilot)).how == "stopped"
    assert {state.status for state in pilot.door.platform.campaigns.values()} == {"paused"}
    with closing(DecisionBook(pilot.folder / "pilot.db", "pilot-1")) as book:
        ended = incident_event(book.events())
    assert (ended.figures["outcome"], ended.figures["day"], ended.figures["hour"]) == ("abort", 1, 6)
    report = (pilot.folder / INCIDENT_FILE).read_text()
    assert "- **stopped**" in report
    assert "ann" in report
    assert "all campaigns are paused" in report

    run = build_run(pilot.door.guard, plan, pilot.agent, **options_of(pilot))
    with closing(run.book):
        assert PilotLoop(run).run().how == "stopped"
        assert controller_of(run).days_before().treated.shape == (2, 2)
        assert len(run.looker.seen.cost_micros) == 30


def test_a_release_that_ends_well_has_no_incident(pilot):
    assert run_release(pilot.door.guard, release_plan(pilot.plan), pilot.agent, **options_of(pilot)).how == "finished"
    assert not (pilot.folder / INCIDENT_FILE).exists()
