from random import Random

import pyarrow as pa
import pytest

from gaelp.errors import BadInput
from gaelp.importing.redaction import redact_identifier, redact_table, redact_text, redaction_key
from tests.importing import planted_pii

KEY = b"a key of one home"


@pytest.mark.parametrize("kind", [planted_pii.emails, planted_pii.phones, planted_pii.cards, planted_pii.keys])
def test_a_thousand_planted_in_free_text_are_hidden(kind):
    rng = Random(7)  # noqa: S311 - planted text, nothing to keep secret
    planted = kind(rng, 1000)
    leaks = [s for s in planted if planted_pii.core(s) in redact_text(planted_pii.free_text(rng, s))]
    assert leaks == []


@pytest.mark.parametrize(
    "text",
    [
        "running shoes size 42",
        "0,2024-01-31T13:05:00,1500000,1",
        "2024-01-31 13:05:00.123",
        "20131023193112417\t1\t300\t250",
        "1706706300,2500,,0",
        "0 12 0.000123",
        "0.123456789",
        "1,234,567",
        "勤怠管理 クラウド",
        "buy-iphone-15-pro-max-256gb-online",
        "segment-a",
    ],
)
def test_figures_times_and_words_stay_readable(text):
    assert redact_text(text) == text


def test_a_redacted_text_says_what_was_there():
    assert redact_text("mail a.b@c.org or +49 30 901820") == "mail [email] or [phone]"
    assert redact_text("card 4111 1111 1111 1111, from 10.1.2.3") == "card [card], from [ip]"


def test_only_allowed_columns_are_kept_and_identifiers_become_keyed_hashes():
    table = pa.table({"id": ["a", "b", "a", None], "keyword": ["x", "me@x.org", "x", None], "note": ["n"] * 4})
    redacted = redact_table(table, {"id", "keyword"}, KEY)
    ids = redacted["id"].to_pylist()
    assert redacted.column_names == ["id", "keyword"]
    assert redacted["keyword"].to_pylist() == ["x", "[email]", "x", None]
    assert ids == [redact_identifier("a", KEY), redact_identifier("b", KEY), redact_identifier("a", KEY), None]
    assert redact_identifier("a", KEY) != redact_identifier("a", b"the key of another home")


def test_numbers_and_an_empty_table_pass_unchanged():
    table = pa.table({"id": pa.array([], pa.string()), "clicks": pa.array([], pa.int64())})
    assert redact_table(table, ["id", "clicks"], KEY).schema == table.schema


def test_a_short_key_is_refused():
    with pytest.raises(BadInput, match="allowed: 16 or more"):
        redact_table(pa.table({"id": ["a"]}), ["id"], b"short")


def test_a_home_keeps_its_private_key(tmp_path):
    key = redaction_key(tmp_path)
    assert redaction_key(tmp_path) == key
    assert (tmp_path / "redaction.key").stat().st_mode & 0o077 == 0
    assert redaction_key(tmp_path / "other") != key
