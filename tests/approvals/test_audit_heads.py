from datetime import timedelta

import pytest

from gaelp.approvals import AuditLog, check_heads, open_database, publish_head, read_heads
from gaelp.approvals.audit import verify_rows
from gaelp.approvals.audit_heads import sign_head
from gaelp.errors import BadInput, DataError, Refused


def log_of(path, office, numbers):
    log = AuditLog(open_database(path))
    for number in numbers:
        log.append("test", {"number": number}, office.now)
    return log


@pytest.fixture
def published(tmp_path, office):
    """A log with heads for its third and its sixth row."""
    log, heads = log_of(tmp_path / "a.db", office, range(3)), tmp_path / "elsewhere" / "heads.jsonl"
    publish_head(log.rows(), office.key("aud"), heads, trust=office.trust, at=office.now)
    log = log_of(tmp_path / "a.db", office, range(3, 6))
    publish_head(log.rows(), office.key("aud"), heads, trust=office.trust, at=office.now)
    return log, heads


def test_heads_agree_with_the_log_they_were_made_of_and_with_one_that_grew(published, office):
    log, heads = published
    assert [head.statement.seq for head in read_heads(heads)] == [2, 5]
    log.append("test", {}, office.now)
    assert check_heads(log.rows(), read_heads(heads), office.trust) is None


@pytest.mark.parametrize("length", [0, 2, 3, 4, 5])
def test_a_log_cut_short_is_whole_by_itself_and_denied_by_its_heads(published, office, length):
    log, heads = published
    short = log.rows()[:length]
    assert verify_rows(short) is None
    problem = check_heads(short, read_heads(heads), office.trust)
    assert (problem.seq, "cut off" in problem.what) == (length, True)


def test_a_log_rewritten_as_a_whole_is_denied_by_its_heads(published, office, tmp_path):
    _, heads = published
    forged = log_of(tmp_path / "b.db", office, [0, 1, 99, 3, 4, 5]).rows()
    assert verify_rows(forged) is None
    problem = check_heads(forged, read_heads(heads), office.trust)
    assert (problem.seq, "rewritten" in problem.what) == (2, True)


def test_a_head_counts_only_from_a_key_that_was_an_auditors_then(published, office):
    log, _ = published
    rows = log.rows()
    for name, trust, at in (
        ("ann", office.trust, office.now),
        ("mal", office.trust, office.now),
        ("aud", office.trust.without("aud", office.now), office.now),
        ("aud", office.trust, office.now - timedelta(days=10)),
    ):
        problem = check_heads(rows, [sign_head(rows[-1], office.key(name), at)], trust)
        assert "not signed by a key" in problem.what
    revoked_since = office.trust.without("aud", office.now + timedelta(days=1))
    assert check_heads(rows, [sign_head(rows[-1], office.key("aud"), office.now)], revoked_since) is None


def test_heads_in_another_order_are_seen(published, office):
    log, heads = published
    assert "out of order" in check_heads(log.rows(), read_heads(heads)[::-1], office.trust).what


def test_no_head_is_published_for_a_broken_an_empty_or_a_denied_log_or_by_just_anybody(published, office, tmp_path):
    log, heads = published
    before = heads.read_bytes()
    forged = log_of(tmp_path / "b.db", office, range(10, 20)).rows()
    for rows, name, message in (
        (log.rows()[1:], "aud", "not whole"),
        (forged, "aud", "denies an earlier head"),
        (log.rows(), "ann", "not trusted"),
    ):
        with pytest.raises(Refused, match=message):
            publish_head(rows, office.key(name), heads, trust=office.trust, at=office.now)
    with pytest.raises(BadInput, match="no row"):
        publish_head((), office.key("aud"), heads, trust=office.trust, at=office.now)
    assert heads.read_bytes() == before


@pytest.mark.parametrize("whole_lines", [0, 1, 2])
def test_half_a_line_of_a_killed_publisher_is_told_and_replaced_by_the_next_head(published, office, whole_lines):
    log, heads = published
    lines = heads.read_bytes().splitlines(keepends=True)
    heads.write_bytes(b"".join(lines[:whole_lines]) + lines[0][:50])
    with pytest.raises(DataError, match="cut off"):
        read_heads(heads)
    publish_head(log.rows(), office.key("aud"), heads, trust=office.trust, at=office.now)
    assert len(read_heads(heads)) == whole_lines + 1
    assert check_heads(log.rows(), read_heads(heads), office.trust) is None


def test_a_line_that_is_no_head_is_named(published):
    _, heads = published
    heads.write_bytes(heads.read_bytes() + b'{"seq":1}\n')
    with pytest.raises(DataError, match=r"heads\.jsonl:3: "):
        read_heads(heads)
    with pytest.raises(BadInput, match="cannot be read"):
        read_heads(heads.with_name("none.jsonl"))
