"""Approvals, actions, audit rows and heads, changed at random in every way we could think of: none goes through.

A mutation of an approval is caught if its text cannot be read, or `require` refuses. A mutation of a log is caught if
`verify_rows` or, with the published heads, `check_heads` names a problem.
"""

import importlib.util
import json
import random
from collections import Counter
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from pathlib import Path

import pytest

from gaelp.approvals import AuditLog, Trust, check_heads, open_database, require
from gaelp.approvals.action import SignedAction
from gaelp.approvals.approval import Approval
from gaelp.approvals.audit import START, AuditRow, row_hash, verify_rows
from gaelp.approvals.audit_heads import Head, sign_head
from gaelp.approvals.canonical import canonical, model_bytes, parse, read_model
from gaelp.errors import DataError, Refused

_spec = importlib.util.spec_from_file_location("approval_mutators", Path(__file__).with_name("mutators.py"))
mutators = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(mutators)
TEXT_MUTATIONS, other = mutators.TEXT_MUTATIONS, mutators.other
ROWS = 12


@dataclass(frozen=True)
class Case:
    """What somebody hands in: the action, two approvals in their stored form, and what is known of nonces."""

    action: bytes
    approvals: tuple[bytes, ...]
    used: frozenset = frozenset()
    minutes: int = 1


def accepted(case, office):
    """Whether the case passes for what it is not: it is authorised."""
    try:
        action = read_model(SignedAction, case.action)
        approvals = [read_model(Approval, raw) for raw in case.approvals]
        at = office.now + timedelta(minutes=case.minutes)
        require(action, approvals, office.policy, office.trust, at, used_nonces=case.used)
    except (DataError, Refused):
        return False
    return True


# Whole approvals


def replay(case, rng, office):
    """Used before, or used too late or too early."""
    nonce = json.loads(rng.choice(case.approvals))["statement"]["nonce"]
    return rng.choice(
        [
            replace(case, used=frozenset({nonce})),
            replace(case, minutes=480 + rng.randrange(9999)),
            replace(case, minutes=-9),
        ]
    )


def leave_out_or_repeat(case, rng, office):
    approval = rng.choice(case.approvals)
    return replace(case, approvals=rng.choice([(), (approval,), (approval, approval), (approval,) * 3]))


def sign_with_another_key(case, rng, office):
    """The same words over another person's signature."""
    index = rng.randrange(2)
    value = json.loads(case.approvals[index])
    signer = office.key(rng.choice(["mal", "cyd", "aud", "bob" if index == 0 else "ann"]))
    value["signature"] = signer.sign(rng.choice(["approval", "action", "audit-head"]), value["statement"])
    return replace(
        case, approvals=tuple(canonical(value) if at == index else raw for at, raw in enumerate(case.approvals))
    )


def sign_in_another_domain(case, rng, office):
    index = rng.randrange(2)
    value = json.loads(case.approvals[index])
    signer = office.key(value["statement"]["approver"])
    value["signature"] = signer.sign(
        rng.choice(["action", "audit-head", "audit-row", "public-key"]), value["statement"]
    )
    return replace(
        case, approvals=tuple(canonical(value) if at == index else raw for at, raw in enumerate(case.approvals))
    )


def exchange_signatures(case, rng, office):
    one, two = map(json.loads, case.approvals)
    part = rng.choice(["signature", "statement"])
    one[part], two[part] = two[part], one[part]
    return replace(case, approvals=(canonical(one), canonical(two)))


def take_the_signature_off(case, rng, office):
    value = json.loads(case.approvals[0])
    value["signature"] = rng.choice([None, "", "00" * 64, value["signature"].upper(), value["signature"] + "00"])
    return replace(case, approvals=(canonical(value), case.approvals[1]))


def forge_the_scalar(case, rng, office):
    """The other signatures that the same equation has: S plus the order of the group."""
    value = json.loads(case.approvals[0])
    raw = bytes.fromhex(value["signature"])
    order = 2**252 + 27742317777372353535851937790883648493
    scalar = (int.from_bytes(raw[32:], "little") + order * rng.choice([1, 2, 3, -1])) % 2**256
    value["signature"] = (raw[:32] + scalar.to_bytes(32, "little")).hex()
    return replace(case, approvals=(canonical(value), case.approvals[1]))


def approve_another_action(case, rng, office):
    """Validly signed by the right people, but for an action that differs a little."""
    changes = rng.choice(
        [
            {"limits_micros": {"daily": 20_000_000 + rng.choice([1, -1, 10**9]), "total": 500_000_000}},
            {"model_hash": f"{rng.getrandbits(256):064x}"},
            {"evidence_hash": f"{rng.getrandbits(256):064x}"},
            {"campaigns": ("brand", "seаrch")},
            {"attempt": rng.randrange(2, 99)},
            {"requester": "aud"},
            {"world": "sandbox"},
            {"currency": rng.choice(["EUR", "JPY", "GBP"])},
        ]
    )
    approvals = tuple(model_bytes(office.decided(name, office.action_with(**changes))) for name in ("ann", "bob"))
    return replace(case, approvals=approvals)


WHOLE_MUTATIONS = (
    replay,
    leave_out_or_repeat,
    sign_with_another_key,
    sign_in_another_domain,
    exchange_signatures,
    take_the_signature_off,
    forge_the_scalar,
    approve_another_action,
)


def approval_mutant(case, rng, office):
    """One changed case and what was done to it; None if the change left everything as it was."""
    if rng.random() < 0.4:
        how = rng.choice(WHOLE_MUTATIONS)
        return how.__name__, how(case, rng, office)
    how = rng.choice(TEXT_MUTATIONS)
    if rng.random() < 0.3:
        return f"action {how.__name__}", replace(case, action=how(case.action, rng))
    index = rng.randrange(len(case.approvals))
    texts = list(case.approvals)
    texts[index] = how(texts[index], rng)
    return how.__name__, replace(case, approvals=tuple(texts))


# Logs


def change_field(rows, rng):
    index = rng.randrange(len(rows))
    name = rng.choice([field.name for field in fields(AuditRow)])
    value = getattr(rows[index], name)
    new = other(value, rng) if name != "body" else rng.choice(TEXT_MUTATIONS)(value.encode(), rng).decode("latin-1")
    rows[index] = replace(rows[index], **{name: new})


def remove_some(rows, rng):
    start = rng.randrange(len(rows))
    del rows[start : start + rng.randrange(1, 4)]


def repeat_row(rows, rng):
    rows.insert(rng.randrange(len(rows)), rng.choice(rows))


def move_rows(rows, rng):
    rng.shuffle(rows) if rng.random() < 0.3 else rows.insert(
        rng.randrange(len(rows)), rows.pop(rng.randrange(len(rows)))
    )


def swap_fields(rows, rng):
    one, two = rng.sample(range(len(rows)), 2)
    name = rng.choice(["at", "body", "previous_hash", "hash", "seq"])
    left, right = getattr(rows[one], name), getattr(rows[two], name)
    rows[one], rows[two] = replace(rows[one], **{name: right}), replace(rows[two], **{name: left})


def hash_one_again(rows, rng):
    index = rng.randrange(len(rows))
    changed = replace(rows[index], body=canonical({"micros": rng.randrange(10**9)}).decode())
    rows[index] = replace(changed, hash=changed.own_hash())


def chained_again(rows):
    """Rows with fresh numbers and hashes: a chain that is whole by itself."""
    previous, chain = START, []
    for seq, row in enumerate(rows):
        hashed = row_hash(seq, row.at, row.kind, parse(row.body.encode()), previous)
        chain.append(replace(row, seq=seq, previous_hash=previous, hash=hashed))
        previous = hashed
    return chain


def rewrite_everything(rows, rng):
    """Change, drop, move or add a row, and make the chain whole again; the length may be kept."""
    index = rng.randrange(len(rows))
    match rng.randrange(4):
        case 0:
            rows[index] = replace(rows[index], body=canonical({"micros": rng.randrange(10**9)}).decode())
        case 1:
            del rows[index]
        case 2:
            rows.insert(index, rng.choice(rows))
        case _:
            rows.reverse()
    rows[:] = chained_again(rows)


def cut_the_end(rows, rng):
    del rows[rng.randrange(len(rows)) :]


LOG_MUTATIONS = (
    change_field,
    remove_some,
    repeat_row,
    move_rows,
    swap_fields,
    hash_one_again,
    rewrite_everything,
    cut_the_end,
)


def log_is_believed(rows, heads, office):
    try:
        published = [read_model(Head, raw) for raw in heads]
    except DataError:
        return False
    return bool(published) and verify_rows(rows) is None and check_heads(rows, published, office.trust) is None


def forge_head(rows, rng, office):
    """A head for a rewritten log by somebody who is no auditor, or a true head with a change."""
    if rng.random() < 0.5:
        return model_bytes(sign_head(rows[-1], office.key(rng.choice(["mal", "ann", "bob"])), office.now))
    raw = model_bytes(sign_head(rows[-1], office.key("aud"), office.now))
    return rng.choice(TEXT_MUTATIONS)(raw, rng)


# The campaign


@pytest.fixture(scope="module")
def true_log(office, tmp_path_factory):
    log = AuditLog(open_database(tmp_path_factory.mktemp("log") / "approvals.db"))
    for number in range(ROWS):
        log.append("approval.used", {"number": number, "micros": 7 * number, "who": "ann"}, office.now)
    return log.rows()


def mutate(office, true_log, count):
    """Make `count` mutants; how many of each kind there were, and those that got through."""
    rng = random.Random(20261116)  # noqa: S311 - mutants are no secret
    case = Case(
        model_bytes(office.action), tuple(model_bytes(office.decided(name, office.action)) for name in ("ann", "bob"))
    )
    heads = [model_bytes(sign_head(true_log[seq], office.key("aud"), office.now)) for seq in (ROWS // 2, ROWS - 1)]
    assert accepted(case, office)
    assert log_is_believed(list(true_log), heads, office)
    kinds, through = Counter(), []
    while kinds.total() < count:
        draw = rng.random()
        if draw < 0.6:
            kind, mutant = approval_mutant(case, rng, office)
            wrong = mutant != case and accepted(mutant, office)
            same = mutant == case
        elif draw < 0.95:
            how = rng.choice(LOG_MUTATIONS)
            mutant = list(true_log)
            how(mutant, rng)
            # A log with rows after the end of the true one is no mutation: rows may be added.
            kind, same = f"log {how.__name__}", tuple(mutant[:ROWS]) == true_log
            wrong = not same and log_is_believed(mutant, heads, office)
        else:
            mutant = forge_head(true_log, rng, office)
            kind, same = "head", mutant == heads[-1]
            wrong = not same and log_is_believed(list(true_log), [mutant], office)
        if same:
            continue
        kinds[kind] += 1
        if wrong:
            through.append((kind, mutant))
    return kinds, through


@pytest.mark.parametrize("count", [2_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_mutations_of_approvals_and_audit_rows_do_not_go_through(office, true_log, count):
    kinds, through = mutate(office, true_log, count)
    assert through == []
    assert kinds.total() == count
    assert len(kinds) == len(WHOLE_MUTATIONS) + 2 * len(TEXT_MUTATIONS) + len(LOG_MUTATIONS) + 1
    assert min(kinds.values()) >= count // 200


def test_the_hunt_would_see_a_mutant_that_goes_through(office, true_log):
    """Without heads a rewritten log is believed, so the campaign's own question can be answered with yes."""
    rng = random.Random(1)  # noqa: S311 - as above
    rows = list(true_log)
    rewrite_everything(rows, rng)
    assert verify_rows(rows) is None
    case = Case(
        model_bytes(office.action), tuple(model_bytes(office.decided(name, office.action)) for name in ("ann", "bob"))
    )
    assert accepted(replace(case, approvals=case.approvals[::-1]), office)  # their order means nothing
    assert not accepted(case, type(office)(**{**vars(office), "trust": Trust()}))
