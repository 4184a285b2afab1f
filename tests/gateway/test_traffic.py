"""Campaigns stay with their version while shares change, as far as the shares allow."""

import numpy as np
import pytest

from gaelp.gateway.traffic import Traffic, campaign_score

SCORES = np.array([campaign_score(f"campaign {number}") for number in range(20_000)])


def traffic(shares, shadow=()):
    return Traffic(shares=shares, shadow=shadow, why="a test")


def test_shares_are_the_shares_of_campaigns():
    assigned = traffic({3: 70, 4: 25, 5: 5}).assigned(SCORES)
    for version, share in {3: 0.7, 4: 0.25, 5: 0.05}.items():
        assert (assigned == version).mean() == pytest.approx(share, abs=0.015)


def test_raising_a_share_moves_campaigns_to_it_alone():
    before = traffic({3: 90, 4: 10}).assigned(SCORES)
    after = traffic({3: 40, 4: 60}).assigned(SCORES)
    assert (after[before == 4] == 4).all()
    assert (after[after != before] == 4).all()


@pytest.mark.parametrize("shares", [{}, {3: 50}, {3: 120, 4: -20}, {3: 100, 4: 0}])
def test_shares_that_are_not_a_whole_are_refused(shares):
    with pytest.raises(ValueError, match="shares"):
        traffic(shares)


def test_a_shadow_has_no_share():
    with pytest.raises(ValueError, match="shadow is listed twice or has a share"):
        traffic({3: 100}, shadow=(3,))
