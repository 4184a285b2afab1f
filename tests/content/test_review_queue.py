"""Cases that wait for a person, and decisions on them, on SQLite and on PostgreSQL."""

import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from gaelp.clock import ManualClock
from gaelp.content import ReviewQueue
from gaelp.content.review_queue import STORE
from gaelp.content.verdict import case_of
from gaelp.database import DatabaseBroken, open_database
from gaelp.errors import BadInput, GaelpError, Refused

NO_WALL = {
    "sqlite": "DROP TRIGGER review_case_no_UPDATE",
    "postgres": "DROP TRIGGER review_case_append_only ON review_case",
}
START = datetime(2026, 1, 5, 9, tzinfo=UTC)


@pytest.fixture
def clock():
    return ManualClock(START)


@pytest.fixture
def reviews(place, clock):
    return ReviewQueue(place, clock)


@pytest.fixture
def doubtful(advert):
    """A creative that waits for a person."""
    return advert(headline="Clinically Proven Bread")


def test_a_doubtful_creative_waits_until_a_person_decides(reviews, checker, doubtful, clock):
    verdict = checker.check(doubtful)
    assert reviews.settle(verdict).outcome == "review"
    assert reviews.add(doubtful, verdict)
    assert [(case.creative, case.verdict, case.added_at) for case in reviews.cases()] == [(doubtful, verdict, START)]
    clock.advance(timedelta(hours=1))
    decided = reviews.decide(verdict.case[:12], "approve", who="anna", why="the study is on file")
    assert (decided.decision.who, decided.decision.decided_at) == ("anna", START + timedelta(hours=1))
    assert reviews.cases() == []
    assert reviews.cases(waiting_only=False) == [decided]
    settled = reviews.settle(verdict)
    assert (settled.outcome, settled.decided_by) == ("allow", "anna")
    assert settled.findings == verdict.findings


def test_a_rejected_creative_is_blocked(reviews, checker, doubtful):
    verdict = checker.check(doubtful)
    reviews.add(doubtful, verdict)
    reviews.decide(verdict.case, "reject", who="anna", why="no study")
    assert reviews.settle(verdict).outcome == "block"


def test_an_edited_creative_needs_a_new_decision(reviews, checker, doubtful):
    verdict = checker.check(doubtful)
    reviews.add(doubtful, verdict)
    reviews.decide(verdict.case, "approve", who="anna", why="the study is on file")
    edited = doubtful.model_copy(update={"landing_url": "https://www.shop.example/other"})
    after = checker.check(edited)
    assert [finding.rule for finding in after.findings] == [finding.rule for finding in verdict.findings]
    assert reviews.settle(after).outcome == "review"


def test_a_finding_that_nobody_has_seen_needs_a_new_decision(reviews, checker, doubtful):
    verdict = checker.check(doubtful)
    reviews.add(doubtful, verdict)
    reviews.decide(verdict.case, "approve", who="anna", why="the study is on file")
    more = (*verdict.findings, verdict.findings[0].model_copy(update={"rule": "a-newer-rule"}))
    newer = verdict.model_copy(update={"findings": more, "case": case_of(verdict.creative_hash, more)})
    assert reviews.settle(newer).outcome == "review"


def test_a_block_is_not_for_people_to_lift(reviews, checker, advert):
    creative = advert(headline="Online Casino")
    verdict = checker.check(creative)
    with pytest.raises(BadInput, match="saw a verdict of block; allowed: review"):
        reviews.add(creative, verdict)
    with pytest.raises(BadInput, match="allowed: review"):
        reviews.add(creative, verdict.model_copy(update={"outcome": "review"}))
    assert reviews.settle(verdict).outcome == "block"


def test_a_verdict_on_another_creative_is_refused(reviews, checker, doubtful):
    verdict = checker.check(doubtful)
    other = doubtful.model_copy(update={"description": "Something else."})
    with pytest.raises(BadInput, match="exactly this creative"):
        reviews.add(other, verdict)


def test_adding_twice_keeps_one_case_and_its_decision(reviews, checker, doubtful):
    verdict = checker.check(doubtful)
    assert [reviews.add(doubtful, verdict), reviews.add(doubtful, verdict)] == [True, False]
    reviews.decide(verdict.case, "reject", who="anna", why="no study")
    assert not reviews.add(doubtful, verdict)
    assert reviews.settle(verdict).outcome == "block"


def test_a_case_is_decided_once(reviews, checker, doubtful):
    verdict = checker.check(doubtful)
    reviews.add(doubtful, verdict)
    reviews.decide(verdict.case, "reject", who="anna", why="no study")
    with pytest.raises(Refused, match="decided by anna on 2026-01-05 09:00 UTC: reject"):
        reviews.decide(verdict.case, "approve", who="ben", why="I like it")
    assert reviews.settle(verdict).outcome == "block"


def test_of_many_who_decide_at_once_one_is_heard(reviews, checker, doubtful):
    verdict = checker.check(doubtful)
    reviews.add(doubtful, verdict)
    outcomes = []

    def decide(name, choice):
        try:
            outcomes.append(reviews.decide(verdict.case, choice, who=name, why="because").decision.who)
        except Refused:
            outcomes.append(None)

    people = [threading.Thread(target=decide, args=(f"p{n}", ("approve", "reject")[n % 2])) for n in range(8)]
    for person in people:
        person.start()
    for person in people:
        person.join()
    [heard] = [name for name in outcomes if name]
    assert reviews.cases(waiting_only=False)[0].decision.who == heard


@pytest.mark.parametrize(("who", "why"), [("", "x"), ("x", ""), (" ", "x"), ("x", "\n")])
def test_a_decision_says_who_and_why(reviews, checker, doubtful, who, why):
    verdict = checker.check(doubtful)
    reviews.add(doubtful, verdict)
    with pytest.raises(BadInput, match="who decided and why"):
        reviews.decide(verdict.case, "approve", who=who, why=why)
    assert reviews.settle(verdict).outcome == "review"


@pytest.mark.parametrize("prefix", ["", "abc", "%%%%%%%%", "zzzzzzzz", "00000000"])
def test_an_unclear_case_is_refused(reviews, checker, doubtful, prefix):
    reviews.add(doubtful, checker.check(doubtful))
    with pytest.raises(BadInput, match="gaelp content queue"):
        reviews.decide(prefix, "approve", who="anna", why="x")


def test_a_case_changed_behind_our_back_is_not_believed(reviews, checker, doubtful, place, database_kind):
    verdict = checker.check(doubtful)
    reviews.add(doubtful, verdict)
    change = text("UPDATE review_case SET creative = replace(creative, 'Clinically', 'Clinical')")
    with closing(open_database(place, STORE)) as database:
        with pytest.raises(DatabaseBroken, match="append-only"), database.writing() as connection:
            connection.execute(change)
        with database.writing() as connection:
            connection.execute(text(NO_WALL[database_kind]))
            connection.execute(change)
    with pytest.raises(GaelpError, match="does not match its creative"):
        reviews.decide(verdict.case, "approve", who="anna", why="x")
    with pytest.raises(GaelpError, match="does not match its creative"):
        reviews.settle(verdict)


def test_a_queue_that_cannot_be_read_allows_nothing(checker, doubtful, tmp_path, clock):
    path = tmp_path / "reviews.sqlite"
    path.write_bytes(b"this is not a database, and long enough to be read as one " * 40)
    with pytest.raises(GaelpError, match="nothing that needs a person is allowed"):
        ReviewQueue(path, clock).settle(checker.check(doubtful))
