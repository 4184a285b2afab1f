"""Reads are remembered until something is written or somebody asks to forget, and never a moment longer."""

from datetime import timedelta

import pytest

from gaelp.platforms import Done
from gaelp.platforms.platform import AdPlatform, CampaignHour
from gaelp.platforms.remembered_reads import RememberedReads


class Counted:
    """Counts the reads of a platform."""

    def __init__(self, platform):
        self._platform, self.reads = platform, []

    def __getattr__(self, name):
        def call(*given, **more):
            self.reads.append(name)
            return getattr(self._platform, name)(*given, **more)

        found = getattr(self._platform, name)
        return call if name.startswith("read_") else found


@pytest.fixture
def counted(door):
    return Counted(door.platform)


@pytest.fixture
def remembered(counted):
    return RememberedReads(counted)


def test_it_is_an_ad_platform(remembered):
    assert isinstance(remembered, AdPlatform)
    assert (remembered.name, remembered.world) == ("double", "live")


@pytest.mark.parametrize(
    "write",
    [
        lambda platform, door: platform.set_budget("spring", 10_000, door.guard.today(), key="w"),
        lambda platform, door: platform.set_bids("spring", {"g": 10_000}, key="w"),
        lambda platform, door: platform.publish("spring", door.advert, key="w"),
        lambda platform, door: platform.enable("spring", key="w"),
        lambda platform, door: platform.pause("spring", key="w"),
        lambda platform, door: platform.forget(),
    ],
)
def test_campaigns_are_read_once_until_something_is_written(remembered, counted, door, double, write):
    door.advert = double.ADVERT
    assert remembered.set_budget("spring", 5_000_000, door.guard.today(), key="b") == Done()
    first = remembered.read_campaigns()
    assert remembered.read_campaigns() is first
    assert counted.reads == ["read_campaigns"]
    write(remembered, door)
    remembered.read_campaigns()
    assert counted.reads == ["read_campaigns"] * 2


def hour(door, back, cost):
    start = door.clock.now().replace(minute=0) - timedelta(hours=back)
    return CampaignHour("spring", start, cost, 1, 1, 0, "g")


def test_a_shorter_report_is_taken_from_a_longer_one(remembered, counted, door):
    door.platform.hours = [hour(door, back, back) for back in (30, 20, 3)]
    now = door.clock.now()
    whole = remembered.read_hours(now - timedelta(hours=48))
    part = remembered.read_hours(now - timedelta(hours=24))
    assert [each.cost_micros for each in whole.hours] == [30, 20, 3]
    assert [each.cost_micros for each in part.hours] == [20, 3]
    assert counted.reads == ["read_hours"]
    remembered.read_hours(now - timedelta(hours=72))
    assert counted.reads == ["read_hours"] * 2


def test_after_forgetting_all_hours_are_read_again(remembered, door):
    door.platform.hours = [hour(door, 30, 1)]
    since = door.clock.now() - timedelta(hours=48)
    remembered.read_hours(since)
    door.platform.hours = [hour(door, 30, 7)]
    remembered.forget()
    assert [each.cost_micros for each in remembered.read_hours(since).hours] == [7]


def test_where_reads_are_long_older_hours_are_read_once_a_day(counted, door):
    remembered = RememberedReads(counted, recent=timedelta(hours=12))
    since = door.clock.now() - timedelta(hours=48)
    door.platform.hours = [hour(door, 30, 1), hour(door, 5, 1)]
    remembered.read_hours(since)
    door.platform.hours = [hour(door, 30, 7), hour(door, 5, 7), hour(door, 1, 7)]
    remembered.forget()
    assert [each.cost_micros for each in remembered.read_hours(since).hours] == [1, 7, 7]
    door.clock.advance(timedelta(hours=25))
    remembered.forget()
    remembered.read_hours(since)
    remembered.forget()
    assert [each.cost_micros for each in remembered.read_hours(since).hours] == [7, 7, 7]


def test_it_is_known_when_hours_were_last_read(counted, door):
    remembered = RememberedReads(counted, recent=timedelta(hours=12), whole_every=timedelta(days=4))
    begin = door.clock.now()
    assert remembered.known_at(begin) is None
    remembered.read_hours(begin - timedelta(hours=48))
    door.clock.advance(timedelta(days=2))
    remembered.forget()
    remembered.read_hours(begin - timedelta(hours=48))
    assert remembered.known_at(begin - timedelta(hours=30)) == begin
    assert remembered.known_at(begin + timedelta(hours=20)) == begin + timedelta(hours=32)
    assert remembered.known_at(begin + timedelta(hours=47)) == begin + timedelta(hours=48)
    remembered.forget_hours()
    remembered.read_hours(begin - timedelta(hours=48))
    assert remembered.known_at(begin - timedelta(hours=30)) == begin + timedelta(hours=48)
