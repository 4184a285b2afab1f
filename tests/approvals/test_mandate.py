"""A mandate is signed whole: no field of it, of its signatures or of what is stored can be changed and still hold."""

import importlib.util
import json
import random
import sqlite3
from collections import Counter
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from gaelp.approvals import ApprovalStore, Mandate, SignedAction, action_hash, describe_mandate
from gaelp.approvals.audit import START, row_hash
from gaelp.approvals.canonical import canonical
from gaelp.clock import ManualClock
from gaelp.errors import BadInput, GaelpError, Refused

_spec = importlib.util.spec_from_file_location("approval_mutators", Path(__file__).with_name("mutators.py"))
mutators = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(mutators)

VALUES = {
    "name": "pilot",
    "account": "123-456-7890",
    "currency": "USD",
    "campaigns": ("brand", "search"),
    "creatives": ("ef" * 32,),
    "model_hash": "ab" * 32,
    "campaign_daily_micros": 20_000_000,
    "account_daily_micros": 60_000_000,
    "total_micros": 500_000_000,
    "bid_micros": 900_000,
    "start_daily_micros": 5_000_000,
    "raise_percent": 20,
    "last_day": date(2026, 12, 1),
}
OTHERS = {
    "name": "other",
    "account": "123-456-7891",
    "currency": "EUR",
    "campaigns": ("brand", "generic"),
    "creatives": (),
    "model_hash": "cd" * 32,
    "campaign_daily_micros": 20_000_001,
    "account_daily_micros": 60_000_001,
    "total_micros": 500_000_001,
    "bid_micros": 900_001,
    "start_daily_micros": 5_000_001,
    "raise_percent": 21,
    "last_day": date(2026, 12, 2),
}
TABLES = {
    "requests": ("action_hash", "body"),
    "approvals": ("nonce", "action_hash", "body"),
    "uses": ("action_hash", "consumer", "body"),
    "used_nonces": ("nonce", "action_hash"),
    "audit": ("seq", "at", "kind", "body", "previous_hash", "hash"),
}


def mandate_action(mandate, **changes):
    values = {"kind": "mandate", "run_id": "mandate", "requester": "mandate", "subject": "mandate pilot"}
    return SignedAction(**values | changes, mandate=mandate)


# What it says


def test_every_field_counts():
    assert OTHERS.keys() == Mandate.model_fields.keys()
    hashes = {action_hash(mandate_action(Mandate(**VALUES)))}
    hashes |= {action_hash(mandate_action(Mandate(**VALUES | {name: value}))) for name, value in OTHERS.items()}
    assert len(hashes) == len(OTHERS) + 1


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({"campaigns": ()}, "at least 1"),
        ({"campaigns": ("a", "a")}, "named twice"),
        ({"start_daily_micros": 30_000_000}, "exceeds campaign_daily_micros=20000000"),
        ({"campaign_daily_micros": 70_000_000}, "exceeds account_daily_micros"),
        ({"account_daily_micros": 600_000_000}, "exceeds total_micros"),
        ({"total_micros": True}, "valid integer"),
        ({"bid_micros": 1.5}, "valid integer"),
        ({"raise_percent": -1}, "greater than or equal to 0"),
        ({"model_hash": "AB" * 32}, "64 hex digits"),
        ({"currency": "XXY"}, "XXY"),
        ({"last_day": "tomorrow"}, "date"),
        ({"surprise": 1}, "Extra inputs"),
    ],
)
def test_a_mandate_that_makes_no_sense_cannot_be_written(changes, seen):
    with pytest.raises((ValidationError, BadInput), match=seen):
        Mandate(**VALUES | changes)


def test_an_action_of_another_kind_carries_no_mandate():
    with pytest.raises(ValidationError, match="only kind mandate does"):
        mandate_action(Mandate(**VALUES), kind="revive")
    with pytest.raises(ValidationError, match="lacks mandate"):
        mandate_action(None)


def test_the_text_for_the_signer_names_every_number():
    text = "\n".join(describe_mandate(Mandate(**VALUES), "live"))
    for words in (
        "$20.00",
        "$60.00",
        "$500.00",
        "$0.90",
        "$5.00",
        "20%",
        "2026-12-01",
        "brand, search",
        "abababababab",
    ):
        assert words in text


def test_how_far_a_budget_may_rise():
    mandate = Mandate(**VALUES)
    assert [mandate.raised_daily_micros(before) for before in (None, 1, 5_000_001, 10_000_000, 19_000_000)] == [
        5_000_000,
        5_000_000,
        6_000_001,
        12_000_000,
        20_000_000,
    ]


# In force, and what ends it


@pytest.fixture
def signed(office, tmp_path):
    """A store with a mandate that two have signed and that was put in force, a week ago."""
    clock = ManualClock(office.now)
    store = ApprovalStore(tmp_path / "approvals.db", clock)
    action = mandate_action(Mandate(**VALUES))
    store.request(action)
    for who in ("ann", "bob"):
        store.submit(office.decided(who, action), office.policy, office.trust)
    store.consume(action, office.policy, office.trust, consumer="mandate pilot")
    clock.advance(timedelta(days=7))
    return store, action, tmp_path / "approvals.db"


def test_it_holds_long_after_its_approvals_could_have_been_used(signed, office):
    store, action, _ = signed
    assert store.in_force(action_hash(action), office.policy, office.trust) == action


def test_it_does_not_hold_before_enough_have_signed(signed, office):
    store, _, _ = signed
    other = mandate_action(Mandate(**VALUES | OTHERS))
    with pytest.raises(Refused, match="nobody has requested it"):
        store.in_force(action_hash(other), office.policy, office.trust)
    store.request(other)
    with pytest.raises(Refused, match="not enough people"):
        store.in_force(action_hash(other), office.policy, office.trust)


def test_a_revocation_ends_it_and_is_in_the_log(signed, office):
    store, action, _ = signed
    for _ in range(2):
        store.revoke(action_hash(action), by="ann", reason="over")
    with pytest.raises(Refused, match="was revoked"):
        store.in_force(action_hash(action), office.policy, office.trust)
    with pytest.raises(BadInput, match="nothing to revoke"):
        store.revoke("0" * 64, by="ann", reason="over")


def test_it_ends_when_too_few_of_those_who_signed_are_trusted_still(signed, office):
    store, action, _ = signed
    trust = office.trust.without("bob", office.now + timedelta(days=1))
    with pytest.raises(Refused, match="only ann is trusted still"):
        store.in_force(action_hash(action), office.policy, trust)
    assert store.in_force(action_hash(action), office.policy, office.trust.without("cyd", office.now)) == action


def test_a_stricter_policy_than_it_was_signed_under_ends_it(signed, office):
    store, action, _ = signed
    with pytest.raises(Refused, match="1 more of 3"):
        store.in_force(action_hash(action), office.policy_with(quorum=3), office.trust)


def test_a_use_that_the_log_does_not_have_is_not_believed(signed, office):
    store, action, place = signed
    tables = read(place)
    tables["audit"] = [row for row in tables["audit"] if row[2] != "approval.used"]
    assert write(place, tables)
    with pytest.raises(Refused, match="do not agree on action"):
        store.in_force(action_hash(action), office.policy, office.trust)


# Mutations


def read(place):
    with closing(sqlite3.connect(place)) as opened:
        return {
            table: [list(row) for row in opened.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY 1")]  # noqa: S608
            for table, columns in TABLES.items()
        }


def write(place, tables):
    with closing(sqlite3.connect(place, isolation_level=None)) as opened:
        opened.execute("PRAGMA synchronous=OFF")
        for (name,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            opened.execute(f"DROP TRIGGER {name}")
        opened.execute("BEGIN")
        for table, columns in TABLES.items():
            opened.execute(f"DELETE FROM {table}")  # noqa: S608
            marks = ", ".join("?" * len(columns))
            try:
                opened.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", tables[table])  # noqa: S608
            except (sqlite3.Error, UnicodeError):
                opened.execute("ROLLBACK")
                return False
        opened.execute("COMMIT")
    return True


def clumsy(tables, rng):
    """One stored text or column is changed, whether or not the result can be read."""
    table = rng.choice([name for name in TABLES if tables[name]])
    row = rng.choice(tables[table])
    at = rng.randrange(len(row))
    if TABLES[table][at] == "body":
        changed = rng.choice(mutators.TEXT_MUTATIONS)(row[at].encode(), rng)
        row[at] = changed.decode("utf-8", "replace")
    else:
        row[at] = mutators.other(row[at], rng)


def skilled(tables, rng):
    """A field of the mandate is changed, and everything else made to fit but the signatures: hashes, log and chain."""
    request = json.loads(tables["requests"][0][1])
    name = rng.choice(sorted(OTHERS))
    kept, plain = request["action"]["mandate"][name], json.loads(json.dumps(OTHERS[name], default=str))
    near = mutators.other(kept, rng)
    request["action"]["mandate"][name] = near if isinstance(near, int) or str(near).isascii() else plain
    if rng.random() < 0.5 or request["action"]["mandate"][name] == kept:
        request["action"]["mandate"][name] = plain
    old = tables["requests"][0][0]
    try:
        new = action_hash(SignedAction.model_validate_json(canonical(request["action"]), strict=True))
    except (ValidationError, GaelpError):
        new = old  # nothing that can be read: it is stored all the same
    text_of_request = canonical(request).decode()
    tables["requests"][0] = [new, text_of_request]
    for table in ("approvals", "uses", "used_nonces"):
        for row in tables[table]:
            row[:] = [column.replace(old, new) for column in row]
    previous = START
    for row in tables["audit"]:
        body = json.loads(row[3].replace(old, new))
        if "request" in body:
            body["request"] = request
        row[3], row[4] = canonical(body).decode(), previous
        row[5] = previous = row_hash(row[0], row[1], row[2], body, row[4])


def resigned(tables, rng):
    """A signature is exchanged for another, or carried over from one approver to the other."""
    first, second = tables["approvals"]
    one, two = json.loads(first[2]), json.loads(second[2])
    match rng.randrange(3):
        case 0:
            one["signature"] = two["signature"]
        case 1:
            one["signature"] = f"{rng.getrandbits(512):0128x}"
        case _:
            one["statement"]["approver"], two["statement"]["approver"] = "bob", "ann"
    first[2], second[2] = canonical(one).decode(), canonical(two).decode()
    previous = START
    for row in tables["audit"]:
        body = json.loads(row[3])
        for value in (one, two):
            if body.get("approval", {}).get("statement", {}).get("nonce") == value["statement"]["nonce"]:
                body["approval"] = value
        row[3], row[4] = canonical(body).decode(), previous
        row[5] = previous = row_hash(row[0], row[1], row[2], body, row[4])


@pytest.mark.parametrize("count", [160, pytest.param(2_000, marks=pytest.mark.slow)])
def test_no_mutation_of_a_signed_mandate_is_accepted(signed, office, count):
    store, action, place = signed
    rng, whole, outcomes = random.Random(12), read(place), Counter()  # noqa: S311
    wanted = action_hash(action)
    for number in range(count):
        mutate = (clumsy, skilled, skilled, resigned)[number % 4]
        tables = json.loads(json.dumps(whole))
        mutate(tables, rng)
        if tables == whole or not write(place, tables):
            outcomes["not stored"] += 1
            continue
        asked = {wanted, *(row[0] for row in tables["requests"] if isinstance(row[0], str))}
        for each in sorted(asked):
            try:
                in_force = store.in_force(each, office.policy, office.trust)
            except GaelpError:
                outcomes["refused"] += 1
                continue
            # What is not read, such as the time of a row of the log, may be wrong; the mandate is then the signed one.
            assert in_force == action, f"mutation {number} ({mutate.__name__}) of {each[:12]} is accepted: {in_force}"
            assert mutate is clumsy, f"mutation {number} ({mutate.__name__}) is not noticed"
            outcomes["as it was signed"] += 1
    assert outcomes["refused"] >= 0.85 * count, outcomes
    write(place, whole)
    assert store.in_force(wanted, office.policy, office.trust) == action
