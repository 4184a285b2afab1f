"""An episode is running until something ends it, and says what."""

from datetime import timedelta

import pytest

from gaelp.errors import BadInput
from gaelp.storage.conformance_rows import FIRST_HOUR
from gaelp.storage.episode_state import EpisodeBrief, EpisodeHour, RunningEpisode, TerminationRule
from gaelp.storage.row_check import check_rows
from gaelp.storage.schema import EpisodeState, TableName
from gaelp.types import Phase

HOUR = timedelta(hours=1)
BRIEF = EpisodeBrief("e-1", Phase.PILOT, "run-1", "spring", "mpc@1", FIRST_HOUR, budget_micros=10)
LOSS = TerminationRule(name="loses money", figure="profit_micros", bound="below", threshold=-5, after_steps=2)
SPENT = TerminationRule(name="budget spent", figure="budget_share", bound="at_least", threshold=1)


def played(hours, **options):
    episode = RunningEpisode(BRIEF, **options)
    for number, hour in enumerate(hours, start=1):
        episode.step(hour, FIRST_HOUR + number * HOUR)
    return episode


def test_each_state_is_a_row_of_its_own():
    episode = played([EpisodeHour(clicks=2, spend_micros=3, value_micros=7)])
    running = episode.row().to_pylist()[0]
    episode.end(EpisodeState.FINISHED, FIRST_HOUR + HOUR)
    finished = check_rows(TableName.EPISODES, episode.row(reward=0.5)).to_pylist()[0]
    assert (running["id"], running["state"], running["ended_at"]) == ("e-1/running", "running", None)
    assert (finished["id"], finished["at"], finished["reward"]) == ("e-1/finished", FIRST_HOUR + HOUR, 0.5)
    assert (finished["steps"], finished["clicks"], finished["spend_micros"], finished["value_micros"]) == (1, 2, 3, 7)


@pytest.mark.parametrize(
    ("hours", "state", "reason"),
    [
        ([EpisodeHour(spend_micros=9)], EpisodeState.RUNNING, None),
        ([EpisodeHour(spend_micros=10, value_micros=10)], EpisodeState.TERMINATED, "budget spent"),
        ([EpisodeHour(spend_micros=6), EpisodeHour()], EpisodeState.TERMINATED, "loses money"),
    ],
)
def test_a_rule_terminates_an_episode_and_is_its_reason(hours, state, reason):
    episode = played(hours, rules=[LOSS, SPENT])
    assert (episode.state, episode.reason) == (state, reason)


def test_an_episode_past_its_time_limit_times_out():
    episode = played([EpisodeHour(), EpisodeHour()], time_limit=2 * HOUR)
    assert (episode.state, episode.reason) == (EpisodeState.TIMED_OUT, "time limit of 2:00:00")


def test_an_episode_that_has_ended_keeps_its_end_and_takes_no_more_hours():
    episode = played([EpisodeHour()])
    episode.end(EpisodeState.FAILED, FIRST_HOUR, "no connection")
    episode.end(EpisodeState.FINISHED, FIRST_HOUR)
    assert (episode.state, episode.reason) == (EpisodeState.FAILED, "no connection")
    with pytest.raises(BadInput, match=r"e-1 is failed \(no connection\): begin another one"):
        episode.step(EpisodeHour(), FIRST_HOUR)


def test_a_figure_that_is_missing_ends_nothing():
    brief = EpisodeBrief("e-2", Phase.PILOT, "run-1", "spring", None, FIRST_HOUR)
    episode = RunningEpisode(brief, rules=[SPENT])
    assert episode.step(EpisodeHour(spend_micros=10**9), FIRST_HOUR) is EpisodeState.RUNNING
