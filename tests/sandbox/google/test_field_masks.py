"""Field masks: what changes, what is cleared, and what differs between two messages."""

import pytest

from gaelp.sandbox.google.failures import AdsRefusal
from gaelp.sandbox.google.field_masks import apply_mask, changed_paths
from gaelp.sandbox.google.messages import new


def campaign(**values):
    return new("resources.Campaign", **values)


def test_only_the_named_fields_change():
    target, update = campaign(name="old", status=2), campaign(name="new", status=3)
    apply_mask(target, update, ["status"])
    assert (target.name, target.status) == ("old", 3)


def test_a_named_field_that_is_unset_is_cleared():
    target = campaign(name="old", labels=["a"])
    apply_mask(target, campaign(), ["name", "labels"])
    assert not target.HasField("name")
    assert not target.labels


def test_a_field_inside_a_message_changes_the_choice_of_bidding():
    target, update = campaign(manual_cpc={}), campaign(target_cpa={"target_cpa_micros": 5})
    apply_mask(target, update, ["target_cpa.target_cpa_micros"])
    assert target.WhichOneof("campaign_bidding_strategy") == "target_cpa"
    apply_mask(target, campaign(maximize_conversions={}), ["maximize_conversions.target_cpa_micros"])
    assert target.WhichOneof("campaign_bidding_strategy") == "maximize_conversions"


def test_pythons_name_for_a_reserved_word_is_accepted():
    target = new("resources.CampaignBudget")
    apply_mask(target, new("resources.CampaignBudget", type_=2), ["type_"])
    apply_mask(target, new("resources.CampaignBudget", type_=2), ["type"])
    assert target.type_ == 2


@pytest.mark.parametrize(
    ("paths", "code"),
    [
        ([], "FIELD_MASK_MISSING"),
        (["nam"], "FIELD_NOT_FOUND"),
        (["name.first"], "FIELD_NOT_FOUND"),
        (["target_cpa"], "FIELD_HAS_SUBFIELDS"),
    ],
)
def test_a_wrong_mask_is_refused(paths, code):
    with pytest.raises(AdsRefusal) as raised:
        apply_mask(campaign(), campaign(), paths)
    assert raised.value.errors[0].code == code


def test_changed_paths_are_those_that_differ():
    before = campaign(name="a", target_cpa={"target_cpa_micros": 1}, status=2)
    after = campaign(name="b", target_cpa={"target_cpa_micros": 2}, status=2)
    assert changed_paths(before, after) == ["name", "target_cpa.target_cpa_micros"]
    assert changed_paths(campaign(), campaign(manual_cpc={})) == ["manual_cpc"]
