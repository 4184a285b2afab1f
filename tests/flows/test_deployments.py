"""What `gaelp up` serves, and what its log says of queued runs."""

import logging
from importlib import import_module

import yaml

from flows.deployments import QueuedOnce, deployments
from flows.home_secret import home_id
from gaelp.config.places import repository_root


def refused(flow_run_id, state="SCHEDULED"):
    """The line that Prefect logs each time it looks at a run that cannot begin."""
    message = "Aborted submission of flow run '%s': Server returned a non-pending state %r"
    return logging.LogRecord("prefect", logging.INFO, "", 1, message, (flow_run_id, state), None)


def test_a_queued_run_is_logged_once_and_in_plain_words():
    once, lines = QueuedOnce(), [refused("a"), refused("a"), refused("b"), refused("a")]
    assert [line.getMessage() for line in lines if once.filter(line)] == [
        "Flow run 'a' is queued: it begins when the run at work ends",
        "Flow run 'b' is queued: it begins when the run at work ends",
    ]


def test_other_lines_of_the_runner_stay_as_they_are():
    line = refused("a", "CANCELLED")
    assert QueuedOnce().filter(line)
    assert line.getMessage().startswith("Aborted submission")


def test_homes_on_a_shared_server_have_deployments_of_their_own(tmp_path):
    names = [
        {made.name for made in deployments("production", [], shared_as=home_id(tmp_path / place))}
        for place in ("one", "other")
    ]
    assert len(names[0]) == 3
    assert not names[0] & names[1]


def test_it_runs_every_ten_minutes_with_the_settings_of_the_pipeline():
    [watch] = [made for made in deployments("production", ["run.seed=3"]) if made.flow_name == "safety-watch"]
    assert watch.name == "every-ten-minutes"
    assert [schedule.schedule.cron for schedule in watch.schedules] == ["*/10 * * * *"]
    assert watch.parameters == {"config": "production", "overrides": ["run.seed=3"]}


def test_a_team_has_the_same_deployments_as_one_machine():
    given = yaml.safe_load((repository_root() / "prefect.yaml").read_text(encoding="utf-8"))["deployments"]
    by_team = {}
    for entry in given:
        path, name = entry["entrypoint"].split(":")
        flow = getattr(import_module(path.removesuffix(".py").replace("/", ".")), name)
        by_team[flow.name, entry["name"]] = [schedule["cron"] for schedule in entry.get("schedules", [])]
    here = deployments("production", [])
    assert by_team == {(made.flow_name, made.name): [when.schedule.cron for when in made.schedules] for made in here}
