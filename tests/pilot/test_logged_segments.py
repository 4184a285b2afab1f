"""What a pilot takes over from a logged campaign."""

from dataclasses import replace

import numpy as np
import pytest

from gaelp.errors import BadInput
from gaelp.pilot.logged_segments import by_evidence, logged_campaign


def test_padded_places_are_no_segments(account_parts):
    estimates = account_parts.estimates_of(["a"], ["one", "two", ""])
    padded = replace(estimates, row=np.array([[0, 1, -1]]))
    logged = logged_campaign(padded, "a")
    assert (logged.segments, logged.usual_bids_micros) == (("one", "two"), (1_000_000, 1_010_000))


def test_an_unknown_campaign_is_refused_with_some_that_there_are(account_parts):
    estimates = account_parts.estimates_of([f"c{number}" for number in range(7)], ["one"])
    with pytest.raises(BadInput, match=r"'spring' is not among the logged campaigns; allowed: c0, .*c4 and 2 more"):
        logged_campaign(estimates, "spring")


def test_equal_evidence_is_ordered_by_name(account_parts):
    assert by_evidence(account_parts.estimates_of(["b", "a"], ["one"])) == ("a", "b")
