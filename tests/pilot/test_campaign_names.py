"""Names of a pilot's campaigns."""

from hypothesis import given
from hypothesis import strategies as st

from gaelp.config.names import check_name
from gaelp.pilot.campaign_names import pilot_campaign_name


def test_a_plain_name_is_the_pilots_and_the_logged_one():
    assert pilot_campaign_name("20261118-151922-ab12", "shop-01-5fa21c9b") == "20261118-151922-ab12-shop-01-5fa21c9b"


@given(st.text(min_size=1, max_size=200), st.text(min_size=1, max_size=200))
def test_any_logged_name_gives_a_usable_name_and_two_of_them_differ(first, second):
    names = [pilot_campaign_name("run-1", each) for each in (first, second)]
    for name in names:
        check_name(name, "campaign")
    assert (names[0] == names[1]) == (first == second)


def test_two_pilots_have_different_names_for_one_campaign():
    assert pilot_campaign_name("a", "Spring sale!") != pilot_campaign_name("b", "Spring sale!")
