"""Approvals and audit log are changed at random in the database itself: every change is noticed, none is accepted.

A mutant is *seen* if `gaelp audit verify` would name it: the chain, the published heads, the tables against the log,
the signatures, or a use that the policy does not grant. It is *accepted* if `consume` then grants what nobody may have:
an action that was used, rejected, has expired, lacks a signature or differs from what was signed; or if it grants what
is due, but to somebody else, by others or for longer. An error that is no GaelpError counts as neither: it fails the
test.

What verification or `consume` cannot notice is listed below the mutations of each kind, and tested.
"""

import importlib.util
import json
import random
import sqlite3
from copy import deepcopy
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest

from gaelp.approvals import ApprovalStore, AuditLog, action_hash, check_heads, open_database
from gaelp.approvals.action import SignedAction
from gaelp.approvals.agreement import DECIDED, REQUESTED, USED
from gaelp.approvals.audit import START, row_hash, verify_rows
from gaelp.approvals.audit_heads import sign_head
from gaelp.approvals.canonical import canonical, digest
from gaelp.clock import ManualClock
from gaelp.errors import GaelpError

_spec = importlib.util.spec_from_file_location("approval_mutators", Path(__file__).with_name("mutators.py"))
mutators = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(mutators)

COLUMNS = {
    "requests": ("action_hash", "body"),
    "approvals": ("nonce", "action_hash", "body"),
    "uses": ("action_hash", "consumer", "body"),
    "used_nonces": ("nonce", "action_hash"),
    "audit": ("seq", "at", "kind", "body", "previous_hash", "hash"),
}
ACTIONS = ("used", "ready", "short", "rejected", "over")
WITH_BODY = ("requests", "approvals", "uses", "audit")
LOGGED_AS = {"requests": (REQUESTED, "request"), "approvals": (DECIDED, "approval"), "uses": (USED, "authorisation")}


# The database, and the hands in it


class Hands:
    """Whoever may write to the database: past triggers and foreign keys, but not past what a column can hold."""

    def __init__(self, place):
        self.place = place
        self.opened = (
            sqlite3.connect(place, isolation_level=None) if isinstance(place, Path) else psycopg.connect(place)
        )
        if isinstance(place, Path):
            self.opened.execute("PRAGMA synchronous=OFF")
            self.walls = self.opened.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        else:
            self.opened.execute("SET session_replication_role = replica")
            self.opened.commit()

    def read(self):
        tables = {}
        for table, columns in COLUMNS.items():
            query = f"SELECT {', '.join(columns)} FROM {table} ORDER BY 1"  # noqa: S608 - the names above
            tables[table] = [list(row) for row in self.opened.execute(query).fetchall()]
        self.opened.commit()
        return tables

    def write(self, tables):
        """Put these rows in the place of all that is there; False if the database cannot hold them."""
        try:
            self._replace(tables)
        except (sqlite3.Error, psycopg.Error, OverflowError, UnicodeError):
            self.opened.rollback()
            return False
        self.opened.commit()
        return True

    def _replace(self, tables):
        mark = "?" if isinstance(self.place, Path) else "%s"
        if isinstance(self.place, Path):
            self.opened.execute("BEGIN IMMEDIATE")
            for name, _ in self.walls:
                self.opened.execute(f"DROP TRIGGER {name}")
        for table, columns in COLUMNS.items():
            self.opened.execute(f"DELETE FROM {table}")  # noqa: S608 - the names above
            marks = ", ".join([mark] * len(columns))
            self.opened.cursor().executemany(f"INSERT INTO {table} VALUES ({marks})", tables[table])  # noqa: S608
        if isinstance(self.place, Path):
            for _, statement in self.walls:
                self.opened.execute(statement)


@pytest.fixture
def office_with_books(office):
    """Make a database with five actions: used, ready, short of a signature, rejected, and run out."""
    made = []

    def make(place):
        clock = ManualClock(office.now)
        store = ApprovalStore(place, clock)
        actions = {name: office.action_with(attempt=number) for number, name in enumerate(ACTIONS, start=1)}
        for name, action in actions.items():
            store.request(action)
            for who in ("ann",) if name == "short" else ("ann", "bob"):
                minutes = 10 if name == "over" else 480
                signed = office.decided(who, action, valid_for=timedelta(minutes=minutes))
                store.submit(signed, office.policy, office.trust)
        reject = office.decided("cyd", actions["rejected"], decision="reject")
        store.submit(reject, office.policy, office.trust)
        AuditLog(open_database(place)).append("trust.added", {"name": "ann", "role": "finance"}, clock.now())
        granted = store.consume(actions["used"], office.policy, office.trust, consumer="release-1")
        AuditLog(open_database(place)).append("trust.added", {"name": "bob", "role": "marketing"}, clock.now())
        clock.advance(timedelta(hours=1))
        rows = AuditLog(open_database(place)).rows()
        heads = [sign_head(rows[seq], office.key("aud"), clock.now()) for seq in (4, len(rows) - 1)]
        books = SimpleNamespace(
            place=place, store=store, clock=clock, actions=actions, heads=heads, granted=granted, office=office
        )
        books.hands = Hands(place)
        made.append(books.hands.opened)
        books.tables = books.hands.read()
        return books

    yield make
    for opened in made:
        opened.close()


@pytest.fixture
def books(office_with_books, place):
    return office_with_books(place)


def seen(books):
    """What `gaelp audit verify --heads` says is wrong; nothing if all seems well."""
    office = books.office
    try:
        rows = AuditLog(open_database(books.place, create=False)).rows()
        if problem := verify_rows(rows) or check_heads(rows, books.heads, office.trust):
            return str(problem)
        books.store.verify(office.trust)
        return "".join(map(str, books.store.insufficient_uses(lambda _: office.policy, office.trust)))
    except GaelpError as problem:
        return str(problem)


def granted(books, action, consumer):
    """What `consume` grants now; None if it refuses."""
    try:
        authorisation = books.store.consume(action, books.office.policy, books.office.trust, consumer=consumer)
        authorisation.check(action, books.clock.now())
    except GaelpError:
        return None
    return authorisation


def accepted(books, more=(), names=ACTIONS):
    """The names of what is granted and should not be, among the actions of these names and more."""
    actions = books.actions
    wrong = [name for name in names if name != "ready" and granted(books, actions[name], "thief")]
    wrong += ["another action" for action in more if action not in actions.values() and granted(books, action, "thief")]
    again = granted(books, actions["used"], "release-1") if "used" in names else None
    if again is not None and again != books.granted:
        wrong.append("used, otherwise")
    ready = granted(books, actions["ready"], "thief") if "ready" in names else None
    due = (("ann", "bob"), books.office.now + timedelta(hours=8), True)
    if ready is not None and (ready.approvers, ready.expires_at, ready.signed) != due:
        wrong.append("ready, otherwise")
    return wrong


# Mutations. Each takes the rows of all tables and changes them; it returns actions that nobody signed, to be tried too.


def any_row(tables, rng, *names):
    table = rng.choice([name for name in names or COLUMNS if tables[name]])
    return table, rng.choice(tables[table])


def text_of(raw):
    """As text where it can be: a database keeps what is no text as bytes, or refuses it."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw


def change_text(tables, rng, books):
    table, row = any_row(tables, rng, *WITH_BODY)
    at = COLUMNS[table].index("body")
    row[at] = text_of(rng.choice(mutators.TEXT_MUTATIONS)(row[at].encode(), rng))


def change_column(tables, rng, books):
    table, row = any_row(tables, rng)
    at = rng.choice([n for n, name in enumerate(COLUMNS[table]) if name != "body"])
    others = [other[at] for other in tables[table]]
    row[at] = rng.choice([mutators.other(row[at], rng), rng.choice(others), str(row[at]).encode()])


SIGNED_PLACES = {
    "requests": [
        ("action", "limits_micros", "daily"),
        ("action", "limits_micros", "total"),
        ("action", "model_hash"),
        ("action", "account"),
        ("action", "attempt"),
        ("action", "requester"),
        ("action", "world"),
        ("requested_at",),
    ],
    "approvals": [
        ("statement", "expires_at"),
        ("statement", "issued_at"),
        ("statement", "decision"),
        ("statement", "approver"),
        ("statement", "reason"),
        ("statement", "nonce"),
        ("statement", "action_hash"),
    ],
    "uses": [("expires_at",), ("granted_at",), ("approvers", 0), ("nonces", 0), ("signed",), ("policy_hash",)],
}


def other_value(leaf, rng):
    """Another plausible value: later, more, another person."""
    if isinstance(leaf, bool):
        return not leaf
    if isinstance(leaf, int):
        return rng.choice([leaf * 10, leaf + 1, max(leaf - 1, 0), rng.randrange(10**8)])
    swaps = {"approve": "reject", "reject": "approve", "ann": "bob", "bob": "ann", "cyd": "aud", "live": "sandbox"}
    if leaf in swaps:
        return swaps[leaf]
    if leaf.startswith("2026-"):
        return leaf.replace("2026-", rng.choice(["2027-", "2030-", "2025-"]))
    return (
        f"{rng.getrandbits(4 * len(leaf)):0{len(leaf)}x}" if all(c in "0123456789abcdef" for c in leaf) else leaf + "x"
    )


def changed_value(body, table, rng):
    value = json.loads(body)
    path = rng.choice(SIGNED_PLACES[table])
    return mutators.with_value(value, path, other_value(mutators.at_path(value, path), rng))


def change_what_was_signed(tables, rng, books):
    """Amount, model, expiry, person: in canonical form, sometimes under the hash it then has."""
    table, row = any_row(tables, rng, *SIGNED_PLACES)
    value, at = changed_value(row[-1], table, rng), len(row) - 1
    row[at] = canonical(value).decode()
    if table != "requests":
        return ()
    if rng.random() < 0.7:
        new, old = digest("action", value["action"]), row[0]
        for name in rng.choice([("requests",), ("requests", "approvals"), ("requests", "approvals", "uses")]):
            where = COLUMNS[name].index("action_hash")
            for other in tables[name]:
                other[where] = new if other[where] == old else other[where]
    return [SignedAction.model_validate_json(canonical(value["action"]), strict=True)]


def delete_rows(tables, rng, books):
    table, _ = any_row(tables, rng)
    for _ in range(rng.choice([1, 1, 2, 3])):
        if tables[table]:
            tables[table].remove(rng.choice(tables[table]))
    if table == "audit" and tables[table] == books.tables[table][: len(tables[table])]:
        tables[table].pop(0)  # the end alone is another matter, see below


def delete_all_of_an_action(tables, rng, books):
    wanted = action_hash(books.actions[rng.choice(["used", "rejected", "short"])])
    for name in rng.sample(["requests", "approvals", "uses", "used_nonces"], rng.randrange(1, 5)):
        tables[name] = [row for row in tables[name] if wanted not in row]


def use_again(tables, rng, books):
    """Take the use away, with or without its nonces and its row in the log."""
    tables["uses"].clear()
    if rng.random() < 0.7:
        tables["used_nonces"].clear()
    if rng.random() < 0.5:
        tables["audit"] = [row for row in tables["audit"] if row[2] != USED]


def approve_with_other_approvals(tables, rng, books):
    """Carry decisions over to another action, under their own nonce or another."""
    source, goal = rng.sample(sorted(books.actions), 2)
    goal = action_hash(books.actions[goal])
    for row in [row for row in tables["approvals"] if row[1] == action_hash(books.actions[source])]:
        value = json.loads(row[2])
        nonce = rng.choice([row[0], f"{rng.getrandbits(128):032x}"])
        if rng.random() < 0.5:
            value["statement"]["action_hash"] = goal
        if rng.random() < 0.5:
            value["statement"]["nonce"] = nonce
        copy = [nonce, goal, canonical(value).decode()]
        if nonce == row[0]:
            row[:] = copy
        else:
            tables["approvals"].append(copy)


def copy_row(tables, rng, books):
    table, row = any_row(tables, rng)
    copy = list(row)
    wanted = [action_hash(action) for action in books.actions.values()]
    match table:
        case "requests":
            copy[0] = f"{rng.getrandbits(256):064x}"
        case "approvals":
            copy[0], copy[1] = f"{rng.getrandbits(128):032x}", rng.choice([copy[1], *wanted, "ab" * 32])
        case "uses":
            copy[0], copy[1] = rng.choice([*wanted[1:], "ab" * 32]), rng.choice([copy[1], "thief"])
        case "used_nonces":
            copy[0] = rng.choice([f"{rng.getrandbits(128):032x}", *(row[0] for row in tables["approvals"])])
        case "audit":
            copy[0] = len(tables["audit"]) + rng.choice([0, 0, 5])
            copy[-1] = f"{rng.getrandbits(256):064x}"
            copy[-2] = rng.choice([f"{rng.getrandbits(256):064x}", tables["audit"][-1][-1]])
    tables[table].append(copy)


def sign_with_another_key(tables, rng, books):
    row = rng.choice(tables["approvals"])
    value = json.loads(row[2])
    who = rng.choice([name for name in ("ann", "bob", "cyd", "aud", "mal") if name != value["statement"]["approver"]])
    if rng.random() < 0.5:
        value["statement"]["decision"] = "approve"
    value["signature"] = books.office.key(who).sign(rng.choice(["approval", "action"]), value["statement"])
    row[2] = canonical(value).decode()


def swap_signatures(tables, rng, books):
    one, two = rng.sample(tables["approvals"], 2)
    left, right = json.loads(one[2]), json.loads(two[2])
    part = rng.choice(["signature", "statement"])
    left[part], right[part] = right[part], left[part]
    one[2], two[2] = canonical(left).decode(), canonical(right).decode()


def swap_cells(tables, rng, books):
    table = rng.choice([name for name, rows in tables.items() if len(rows) > 1])
    one, two = rng.sample(tables[table], 2)
    at = rng.randrange(len(one))
    one[at], two[at] = two[at], one[at]


def order_rows_otherwise(tables, rng, books):
    rows = tables["audit"]
    numbers = [row[0] for row in rows]
    if rng.random() < 0.5:
        one, two = rng.sample(range(len(rows)), 2)
        numbers[one], numbers[two] = numbers[two], numbers[one]
    else:
        rng.choice([rng.shuffle, list.reverse])(numbers)
    for row, number in zip(rows, numbers, strict=True):
        row[0] = number


def slip_in_a_decision(tables, rng, books):
    """Add a decision with a false signature to table and log, as GAELP would add a true one."""
    action = books.actions[rng.choice(["short", "over", "rejected"])]
    forged = books.office.decided(rng.choice(["bob", "ann"]), action, at=books.clock.now())
    value = forged.model_dump(mode="json")
    value["signature"] = rng.choice(
        [books.office.key("mal").sign("approval", value["statement"]), "00" * 64, value["signature"][::-1], None]
    )
    wanted = action_hash(action)
    tables["approvals"].append([value["statement"]["nonce"], wanted, canonical(value).decode()])
    add_to_log(tables, DECIDED, {"action_hash": wanted, "approval": value}, books)


def slip_in_a_use(tables, rng, books):
    """Add a use that was never granted to tables and log, as GAELP would add a true one."""
    name = rng.choice(["short", "rejected", "over", "another"])
    action = books.actions.get(name) or books.office.action_with(attempt=99)
    wanted = action_hash(action)
    nonces = [row[0] for row in tables["approvals"] if row[1] == wanted]
    value = json.loads(tables["uses"][0][2]) | {"action_hash": wanted}
    value["granted_at"] = rng.choice([value["granted_at"], "2026-11-16T13:00:00Z", "2026-11-16T12:05:00Z"])
    approving = [row[0] for row in tables["approvals"] if row[1] == wanted and '"approve"' in row[2]]
    value["nonces"] = rng.choice([nonces, nonces[:1], approving, approving, [], value["nonces"]])
    value["approvers"] = rng.choice([["ann"], ["ann", "bob"], ["ann", "bob"]])
    value["expires_at"] = "2026-11-16T20:00:00Z"
    if name == "another":
        request = {"action": action.model_dump(mode="json"), "requested_at": value["granted_at"]}
        tables["requests"].append([wanted, canonical(request).decode()])
        add_to_log(tables, REQUESTED, {"action_hash": wanted, "request": request}, books)
    tables["uses"].append([wanted, "thief", canonical(value).decode()])
    kept = {row[0] for row in tables["used_nonces"]}
    tables["used_nonces"] += [[nonce, wanted] for nonce in value["nonces"] if nonce not in kept]
    add_to_log(tables, USED, {"action_hash": wanted, "consumer": "thief", "authorisation": value}, books)
    return [action]


def slip_in_nonsense(tables, rng, books):
    """Add a row to the log, bound to the one before it, that records nothing or something that never happened."""
    wanted = action_hash(books.actions["ready"])
    bodies = [{}, [wanted], wanted, {"action_hash": 5}, {"action_hash": wanted}, {"action_hash": "ab" * 32}, None]
    add_to_log(tables, rng.choice([REQUESTED, DECIDED, USED]), rng.choice(bodies), books)


def add_to_log(tables, kind, body, books):
    last, at = tables["audit"][-1], books.clock.now().isoformat(timespec="microseconds")
    hashed = row_hash(last[0] + 1, at, kind, body, last[-1])
    tables["audit"].append([last[0] + 1, at, kind, canonical(body).decode(), last[-1], hashed])


MUTATIONS = (
    change_text,
    change_column,
    change_what_was_signed,
    delete_rows,
    delete_all_of_an_action,
    use_again,
    approve_with_other_approvals,
    copy_row,
    sign_with_another_key,
    swap_signatures,
    swap_cells,
    order_rows_otherwise,
    slip_in_a_decision,
    slip_in_a_use,
    slip_in_nonsense,
)


# Forgeries of the log: hashes are computed again, rows renumbered, or the end is cut off. The chain as a whole and the
# heads show it. `verify` checks both; `consume` does not: it reads the rows of its own action.


def chained_again(rows):
    previous = START
    for seq, row in enumerate(rows):
        hashed = row_hash(seq, row[1], row[2], json.loads(row[3]), previous)
        row[0], row[4], row[5], previous = seq, previous, hashed, hashed


def log_row_of(tables, table, row):
    """The row of the log about a row of a table."""
    kind, name = LOGGED_AS[table]
    body = json.loads(row[-1])
    return next(entry for entry in tables["audit"] if entry[2] == kind and json.loads(entry[3])[name] == body)


def forget_everywhere(tables, rng, books):
    table, row = any_row(tables, rng, "approvals", "uses")
    tables["audit"].remove(log_row_of(tables, table, row))
    tables[table].remove(row)
    if table == "uses":
        tables["used_nonces"].clear()
    chained_again(tables["audit"])


def change_everywhere(tables, rng, books):
    table, row = any_row(tables, rng, *SIGNED_PLACES)
    logged, value = log_row_of(tables, table, row), changed_value(row[-1], table, rng)
    body = json.loads(logged[3])
    body[LOGGED_AS[table][1]] = value
    logged[3], row[-1] = canonical(body).decode(), canonical(value).decode()
    chained_again(tables["audit"])


def hash_one_row_again(tables, rng, books):
    """A row of the log becomes another one, whole by itself; what it recorded is taken out of the tables."""
    table, row = any_row(tables, rng, "approvals", "uses")
    logged = log_row_of(tables, table, row)
    tables[table].remove(row)
    if table == "uses":
        tables["used_nonces"].clear()
    logged[2], logged[3] = "note", canonical({"number": rng.randrange(10**6)}).decode()
    logged[5] = row_hash(logged[0], logged[1], logged[2], json.loads(logged[3]), logged[4])


def cut_the_end_off(tables, rng, books):
    gone = tables["audit"][-rng.randrange(1, 6) :]
    del tables["audit"][-len(gone) :]
    bodies = [row[3] for row in gone]
    for table in LOGGED_AS:
        tables[table] = [row for row in tables[table] if not any(row[-1] in body for body in bodies)]
    if not tables["uses"]:
        tables["used_nonces"].clear()


def close_the_gap(tables, rng, books):
    """A use is gone from tables and log, and the rows after it are given its number."""
    use_again(tables, random.Random(0), books)  # noqa: S311 - as below
    tables["audit"] = [row for row in tables["audit"] if row[2] != USED]
    for number, row in enumerate(tables["audit"]):
        row[0] = number


FORGERIES = (forget_everywhere, change_everywhere, hash_one_row_again, cut_the_end_off, close_the_gap)
NOT_KEPT_FROM_AT_THE_DOOR = {"used", "rejected"}
"""If the log was forged too, approvals are used again and a rejection is forgotten; no signature is ever forged."""
NOTED_ONLY = {"used, otherwise"}
"""A use whose recorded policy hash was changed is returned with the changed hash."""


# The hunt


def mutate(books, mutations, each, seed):
    """Make `each` mutants of every kind, and try verification and `consume` on them; what was unseen, what accepted."""
    rng = random.Random(seed)  # noqa: S311 - mutants are no secret
    unseen, let_in = [], []
    for how in mutations:
        made = 0
        while made < each:
            tables = deepcopy(books.tables)
            more = how(tables, rng, books) or ()
            if not books.hands.write(tables) or books.hands.read() == books.tables:
                continue
            made += 1
            what = changes(books, tables)
            if not seen(books):
                unseen.append((how.__name__, what))
            let_in += [(how.__name__, name, what) for name in accepted(books, more, touched(books, what, rng))]
    assert books.hands.write(books.tables)
    assert not seen(books)
    return unseen, let_in


def changes(books, tables):
    """What a mutant differs in, to be read in a failure."""
    return {
        name: [row for row in rows if row not in books.tables[name]]
        + [("gone", row) for row in books.tables[name] if row not in rows]
        for name, rows in tables.items()
        if rows != books.tables[name]
    }


def differing(rows):
    """The fields in which a changed use differs from the one that is gone."""
    [new, (_, old)] = rows
    before, after = json.loads(old[-1]), json.loads(new[-1])
    return {name for name in before if before[name] != after[name]}


def touched(books, what, rng):
    """The actions that the changed rows name, and any other one."""
    text = repr(what)
    return {*(name for name in ACTIONS if action_hash(books.actions[name]) in text), rng.choice(ACTIONS)}


def check(books, each, seed=20261116):
    unseen, let_in = mutate(books, MUTATIONS, each, seed)
    assert (unseen[:3], len(unseen)) == ([], 0), f"seed {seed}"
    assert (let_in[:3], len(let_in)) == ([], 0), f"seed {seed}"


def test_the_books_as_they_are_verify_and_grant_what_is_due_alone(books):
    assert not seen(books)
    assert accepted(books) == []
    assert books.store.is_used(books.actions["ready"])  # it was due, and granted


def test_mutations_of_what_is_stored_are_all_seen_and_none_is_accepted(books, database_kind):
    check(books, 15 if database_kind == "sqlite" else 2)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_10000_mutations_of_what_is_stored_are_all_seen_and_none_is_accepted(books, database_kind):
    check(books, 650 if database_kind == "sqlite" else 100, seed=random.SystemRandom().randrange(2**32))


@pytest.mark.parametrize("each", [10, pytest.param(300, marks=pytest.mark.slow)])
def test_a_forged_log_is_seen_and_even_then_no_signature_is_made_up(office_with_books, databases, each):
    forged = office_with_books(databases.fresh_place("sqlite"))
    unseen, let_in = mutate(forged, FORGERIES, each, seed=20261116)
    assert unseen == []
    assert {name for _, name, _ in let_in} <= NOT_KEPT_FROM_AT_THE_DOOR | NOTED_ONLY
    noted = [what for _, name, what in let_in if name in NOTED_ONLY]
    assert all(differing(what["uses"]) == {"policy_hash"} for what in noted)


# What is not seen, by design (docs/approvals.md)


def end_that_no_head_vouches_for(tables, books):
    """Cut off what came after the last head, out of tables and log."""
    books.heads = books.heads[:1]
    cut_the_end_off(tables, SimpleNamespace(randrange=lambda *_: 4), books)


def row_of_another_kind(tables, books):
    """A change of trust that GAELP did not write, added as it would have added it."""
    add_to_log(tables, "trust.added", {"name": "mal"}, books)


def question_that_nobody_asked(tables, books):
    """A request; it grants nothing, for people still have to sign."""
    action = books.office.action_with(attempt=99)
    request = {"action": action.model_dump(mode="json"), "requested_at": "2026-11-16T12:30:00Z"}
    tables["requests"].append([action_hash(action), canonical(request).decode()])
    add_to_log(tables, REQUESTED, {"action_hash": action_hash(action), "request": request}, books)


def use_of_approvals_that_held(tables, books):
    """What `consume` would have written: people had approved it, and nobody can tell who used it."""
    wanted = action_hash(books.actions["ready"])
    nonces = sorted(row[0] for row in tables["approvals"] if row[1] == wanted)
    value = json.loads(tables["uses"][0][2]) | {"action_hash": wanted, "nonces": nonces}
    tables["uses"].append([wanted, "thief", canonical(value).decode()])
    tables["used_nonces"] += [[nonce, wanted] for nonce in nonces]
    add_to_log(tables, USED, {"action_hash": wanted, "consumer": "thief", "authorisation": value}, books)


def order_on_the_disk(tables, books):
    """Rows have numbers and keys; their order in the file means nothing."""
    for rows in tables.values():
        rows.reverse()


NOT_SEEN = (
    end_that_no_head_vouches_for,
    row_of_another_kind,
    question_that_nobody_asked,
    use_of_approvals_that_held,
    order_on_the_disk,
)


@pytest.mark.parametrize("how", NOT_SEEN, ids=lambda how: how.__name__)
def test_what_cannot_be_seen_is_known_and_grants_nothing_that_was_not_signed(books, how):
    tables = deepcopy(books.tables)
    how(tables, books)
    assert books.hands.write(tables)
    assert not seen(books)
    # The rejection and the use are among what is cut off.
    cut = NOT_KEPT_FROM_AT_THE_DOOR if how is end_that_no_head_vouches_for else set()
    assert set(accepted(books, [books.office.action_with(attempt=99)])) == cut


def test_the_hunt_would_see_a_mutant_that_goes_through(office_with_books, databases, monkeypatch):
    """If tables and log were not compared, or a stored use not checked, the hunt would report it."""
    books = office_with_books(databases.fresh_place("sqlite"))
    monkeypatch.setattr("gaelp.approvals.store.check_all", lambda _: None)
    monkeypatch.setattr("gaelp.approvals.store.check_granted", lambda *_: None)
    unseen, _ = mutate(books, (delete_all_of_an_action,), 15, seed=1)
    _, let_in = mutate(books, (slip_in_a_use,), 10, seed=1)
    assert unseen
    assert {"short", "over", "rejected"} & {name for _, name, _ in let_in}
