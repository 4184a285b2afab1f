import pytest

from gaelp.approvals import ApprovalPolicy, load_policy, stricter
from gaelp.approvals.policy import _STRICTER_OF
from gaelp.config import fingerprint
from gaelp.errors import ConfigError, Refused


@pytest.mark.parametrize(("name", "sandbox"), [("live", False), ("sandbox", True)])
def test_the_shipped_policies_load(name, sandbox):
    assert load_policy(name).sandbox is sandbox


def test_a_policy_refuses_unsigned_approvals_unless_it_says_otherwise(office):
    assert office.policy.sandbox is False
    assert office.policy.four_eyes is True


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("quorum: 0", "quorum"),
        ("at_least: {finance: 3}", "1 to quorum"),
        ("at_least: {legal: 1}", "legal"),
        ("escalate_after_minutes: 2880", "not before"),
        ("sandbox: maybe", "sandbox"),
        ("extra: 1", "unknown key"),
        ("known_roles: {marketing: Plans.}", "finance, which known_roles does not list: add it there"),
        ("escalate_to: [director]\nknown_roles: {finance: Pays.}", "director, which known_roles does not list"),
        ("known_roles: {finance: ''}", "known_roles.finance"),
    ],
)
def test_a_policy_that_cannot_be_met_is_refused_when_it_is_read(tmp_path, line, message):
    key = line.split(":", maxsplit=1)[0]
    lines = ["quorum: 2", "roles: [finance]", "valid_minutes_max: 60", "escalate_after_minutes: 10"]
    lines += ["expire_after_minutes: 2880", "why: because"]
    path = tmp_path / "policy.yaml"
    path.write_text("\n".join([*(old for old in lines if not old.startswith(f"{key}:")), line]) + "\n")
    with pytest.raises(ConfigError, match=message):
        load_policy(path)


@pytest.mark.parametrize("name", ["live", "sandbox"])
def test_the_shipped_policies_explain_each_role_that_an_approver_can_have(name):
    policy = load_policy(name)
    assert policy.role_names == ("auditor", "director", "finance", "marketing")
    assert all(sentence.endswith(".") for sentence in policy.known_roles.values())


def test_a_policy_without_a_list_of_roles_knows_those_it_names_and_the_auditor(office):
    policy = office.policy_with(escalate_to=("director",))
    assert policy.role_names == ("auditor", "director", "finance", "marketing")


def test_the_list_of_roles_is_no_part_of_what_is_stored_or_hashed(office):
    explained = office.policy_with(known_roles={"finance": "Pays.", "marketing": "Plans."})
    assert fingerprint(explained) == fingerprint(office.policy)
    assert ApprovalPolicy.model_validate_json(explained.model_dump_json()) == office.policy


# The stricter of two policies


@pytest.mark.parametrize(
    ("strict", "loose"),
    [
        ({"sandbox": False}, {"sandbox": True}),
        ({"quorum": 3}, {"quorum": 2}),
        ({"roles": ("finance",)}, {"roles": ("finance", "marketing")}),
        ({"roles": ("finance", "marketing")}, {"roles": ()}),
        ({"at_least": {"finance": 2}}, {"at_least": {"finance": 1}}),
        ({"at_least": {"finance": 1}}, {"at_least": {}}),
        ({"four_eyes": True}, {"four_eyes": False}),
        ({"valid_minutes_max": 60}, {"valid_minutes_max": 1440}),
        ({"expire_after_minutes": 300}, {"expire_after_minutes": 2880}),
        ({"escalate_after_minutes": 10}, {"escalate_after_minutes": 240}),
        ({"escalate_to": ("director",)}, {"escalate_to": ()}),
        ({"skew_seconds": 0}, {"skew_seconds": 30}),
    ],
)
def test_a_policy_that_asks_for_more_in_any_respect_is_the_stricter_one(office, strict, loose):
    strict, loose = office.policy_with(**strict), office.policy_with(**loose)
    assert stricter(strict, loose) is strict
    assert stricter(loose, strict) is strict


def test_of_two_policies_that_ask_for_the_same_the_first_is_taken(office):
    other = office.policy_with(
        why="said otherwise", roles=("marketing", "finance"), known_roles={"finance": "Pays.", "marketing": "Plans."}
    )
    assert stricter(office.policy, other) is office.policy
    assert stricter(other, office.policy) is other


def test_two_policies_that_are_each_stricter_in_something_are_both_demanded(office):
    many = office.policy_with(quorum=3, at_least={"marketing": 1}, four_eyes=False)
    few = office.policy_with(quorum=2, at_least={"finance": 2}, valid_minutes_max=60)
    expected = office.policy_with(
        quorum=3, at_least={"finance": 2, "marketing": 1}, four_eyes=True, valid_minutes_max=60
    )
    assert stricter(many, few) == stricter(few, many) == expected


@pytest.mark.parametrize(
    "other",
    [
        {"roles": ("legal",), "at_least": {}},
        {"roles": ("marketing",), "at_least": {"marketing": 1}},
        {"roles": (), "at_least": {"legal": 1}},
    ],
)
def test_two_policies_that_nobody_can_fulfil_together_are_refused(office, other):
    with pytest.raises(Refused, match="cannot be fulfilled together"):
        stricter(office.policy_with(roles=("finance",)), office.policy_with(**other))


def test_every_demand_of_a_policy_is_compared():
    assert set(ApprovalPolicy.model_fields) - {"why", "known_roles"} == set(_STRICTER_OF)
