"""An invalid cost leaves its own campaign-day in doubt, and a missing one counts as zero only if that is certain."""

from datetime import UTC, date, datetime

from gaelp.platforms import CostReport, DayCost
from gaelp.platforms.cost_reading import read_report

DAY, OTHER = date(2026, 11, 16), date(2026, 11, 17)
NOW = datetime(2026, 11, 18, tzinfo=UTC)


def read(*costs):
    return read_report(CostReport(NOW, costs), (DAY, OTHER))


def test_a_campaign_day_that_is_not_listed_cost_nothing():
    costs = read(DayCost("spring", DAY, 5))
    assert (costs.of("spring", DAY), costs.of("spring", OTHER), costs.of("summer", DAY)) == (5, 0, 0)
    assert costs.problems == []


def test_an_invalid_amount_leaves_only_its_campaign_day_in_doubt():
    costs = read(DayCost("spring", DAY, -1), DayCost("spring", OTHER, 4))
    assert (costs.of("spring", DAY), costs.of("spring", OTHER), len(costs.problems)) == (None, 4, 1)


def test_a_day_that_was_not_requested_leaves_every_day_of_the_campaign_in_doubt_if_it_is_no_date():
    assert read(DayCost("spring", NOW, 5)).of("spring", DAY) is None
    assert read(DayCost("spring", date(2020, 1, 1), 5)).of("spring", DAY) == 0


def test_a_cost_without_a_campaign_leaves_all_that_is_not_listed_in_doubt():
    costs = read(DayCost("", DAY, 5), DayCost("spring", DAY, 4))
    assert (costs.of("spring", DAY), costs.of("summer", DAY)) == (4, None)
