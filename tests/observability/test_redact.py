import json
import time
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple
from urllib.parse import quote

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretBytes, SecretStr

from gaelp.errors import BadInput
from gaelp.money import Money
from gaelp.observability.redact import MASK, Redactor, mask, mask_text, register_secrets

SECRET = 's3cr3t it\'s "quoted" & é'

secrets_of_any_kind = st.text(st.characters(exclude_characters="[]", exclude_categories=["Cs"]), min_size=4).filter(
    lambda secret: len(secret.strip()) >= 4 and secret.strip() not in MASK
)
containers = st.recursive(
    st.just("{}"),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3),
        st.tuples(inner),
        st.dictionaries(st.sampled_from(["a", "note"]), inner, min_size=1),
    ),
    max_leaves=6,
)


class Login(BaseModel):
    user: str
    password: str


@dataclass
class Account:
    number: int
    refresh_token: str


class Header(NamedTuple):
    user: str
    secret: str


class Grumpy:
    def __str__(self) -> str:
        raise RuntimeError(SECRET)


@pytest.fixture
def redactor() -> Redactor:
    redactor = Redactor()
    redactor.register([SECRET])
    return redactor


def planted(shape, secret):
    if isinstance(shape, dict):
        return {key: planted(item, secret) for key, item in shape.items()}
    if isinstance(shape, list | tuple):
        return type(shape)(planted(item, secret) for item in shape)
    return f"before {secret} after"


@given(secrets_of_any_kind, containers)
def test_no_registered_secret_survives_in_any_nesting(secret, shape):
    redactor = Redactor()
    redactor.register([secret])
    secret = secret.strip()
    assume(secret not in f"before {MASK} after")
    cleaned = redactor.clean(planted(shape, secret))
    printed = [json.dumps(cleaned), json.dumps(cleaned, ensure_ascii=False), str(cleaned)]
    spelled = json.dumps(secret)[1:-1]
    assume(spelled not in json.dumps(redactor.clean(planted(shape, "nothing"))))
    assert all(spelled not in text and secret not in text for text in printed)
    assert MASK in printed[0]


@pytest.mark.parametrize(
    "spelled",
    [
        SECRET,
        repr(SECRET),
        repr({"a": [SECRET, "'"]}),
        repr(SECRET.encode()),
        json.dumps({"a": SECRET}),
        json.dumps({"a": SECRET}, ensure_ascii=False),
        quote(SECRET),
        quote(SECRET, safe=""),
        f"https://ads.example/?q={quote(SECRET, safe='')}&page=2",
    ],
)
def test_a_registered_secret_is_found_in_its_usual_spellings(redactor, spelled):
    cleaned = redactor.text(spelled)
    assert MASK in cleaned
    assert "s3cr3t" not in cleaned
    assert "quoted" not in cleaned


def test_a_secret_of_many_lines_is_found_line_by_line(redactor):
    redactor.register(["-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n"])
    assert redactor.text("  | MIIEvQIBADANBgkqhkiG9w0BAQEFAASC") == f"  | {MASK}"


@pytest.mark.parametrize(
    "name",
    [
        *("api_key", "token", "password", "secret", "authorization", "developer_token", "refresh_token"),
        *("API_KEY", "apiKey", "X-Api-Key", "accessToken", "client_secret", "private_key", "tokens", b"token"),
        "GAELP__GOOGLE__DEVELOPER_TOKEN",
    ],
)
@pytest.mark.parametrize("value", ["plain", 12345, ["plain"], {"plain": 1}, b"plain"])
def test_the_value_under_a_telling_name_is_hidden_whole(redactor, name, value):
    assert list(redactor.clean({"outer": [{name: value}]})["outer"][0].values()) == [MASK]


def test_names_that_tell_nothing_and_values_not_set_stay(redactor):
    honest = {"token": None, "token_count": 3, "key": "a", "monkey": "b", "spend_micros": 5, "secretary": "Ada"}
    assert redactor.clean(honest) == honest


def test_pairs_as_in_headers_are_read_like_named_values(redactor):
    assert redactor.clean([("developer-token", "plain"), (b"authorization", b"plain"), ("day", 3)]) == [
        ["developer-token", MASK],
        ["authorization", MASK],
        ["day", 3],
    ]


@pytest.mark.parametrize(
    "record", [Login(user="ada", password="plain"), Account(7, "plain"), Header("ada", "plain"), SecretStr("plain")]
)
def test_records_are_opened_so_that_their_field_names_can_tell(redactor, record):
    assert "plain" not in json.dumps(redactor.clean([record]))


@pytest.mark.parametrize("value", [SecretStr("plain"), SecretBytes(b"plain")])
def test_secret_types_are_hidden_under_any_name(redactor, value):
    assert redactor.clean({"note": value}) == {"note": MASK}


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("GET /me?access_token=EAAB12&limit=5", f"GET /me?access_token={MASK}&limit=5"),
        ("Client(api_key='a b', retries=3)", f"Client(api_key={MASK}, retries=3)"),
        ("headers={'developer-token': 'abc', 'x': 1}", f"headers={{'developer-token': {MASK}, 'x': 1}}"),
        ('{"password": "abc\\"def", "x": 1}', f'{{"password": {MASK}, "x": 1}}'),
        ("Authorization: Bearer abc.def", f"Authorization: {MASK}"),
        ("authorization=Basic YWJjOmRlZg==", f"authorization={MASK}"),
        ("sent Bearer abcdefghij twice", f"sent Bearer {MASK} twice"),
        ("postgresql://ada:pw@db/gaelp", f"postgresql://ada:{MASK}@db/gaelp"),
        ("token=b'abc'", f"token={MASK}"),
        ("tokens=['abc', 'def'] left", f"tokens={MASK} left"),
        ("token='abc", f"token={MASK}"),
    ],
)
def test_what_follows_a_telling_name_in_running_text_is_hidden(text, cleaned):
    assert Redactor().text(text) == cleaned
    assert Redactor().text(cleaned) == cleaned


@pytest.mark.parametrize(
    "text",
    [
        "google.api_key: unknown key, allowed are 'api_key', 'developer_token'",
        "token=None, password == given",
        "the bearer of this note",
        "see https://example.com:8080/a@b",
        "spend_micros=500",
    ],
)
def test_honest_text_stays_as_it_is(text):
    assert Redactor().text(text) == text


def test_a_short_secret_is_hidden_only_as_a_whole_value():
    redactor = Redactor()
    assert redactor.register(["7", "abc", "long enough", "  ", ""]) == 2
    assert redactor.text("17 fabcs for abc") == "17 fabcs for abc"
    assert redactor.clean(["7", " abc\n", 7, 77]) == [MASK, MASK, MASK, 77]
    assert redactor.clean({"token": "7"}) == {"token": MASK}


def test_whitespace_around_a_secret_from_a_file_does_not_matter():
    redactor = Redactor()
    redactor.register(["from-file\n"])
    assert redactor.text("<from-file>") == f"<{MASK}>"


def test_a_secret_that_is_no_valid_text_is_hidden_too():
    redactor = Redactor()
    redactor.register(["caf\udce9-key"])
    assert redactor.text("x caf\udce9-key") == f"x {MASK}"


def test_of_two_overlapping_secrets_the_longer_goes_first():
    redactor = Redactor()
    redactor.register(["hunter", "hunter-two"])
    assert redactor.text("hunter-two hunter") == f"{MASK} {MASK}"


@pytest.mark.parametrize("secrets", ["hunter2", b"hunter2", SecretStr("hunter2"), None, [None], [b"hunter2"], [7]])
def test_what_cannot_be_registered_is_refused_without_being_shown(secrets):
    with pytest.raises(BadInput, match="SecretStr") as refusal:
        Redactor().register(secrets)
    assert "hunter2" not in str(refusal.value)


def test_values_become_plain_data_that_json_can_hold(redactor):
    cleaned = redactor.clean(
        {
            "money": Money(5_000_000, "USD"),
            "count": np.int64(3),
            "share": np.float32(0.5),
            "nan": float("nan"),
            "endless": -float("inf"),
            "exact": Decimal("1.5"),
            "unique": {1},
            "error": ValueError("no"),
            "body": bytearray(b"caf\xc3\xa9 \xff"),
            3: None,
        }
    )
    assert json.loads(json.dumps(cleaned, allow_nan=False)) == {
        "money": "$5.00",
        "count": 3,
        "share": 0.5,
        "nan": "nan",
        "endless": "-inf",
        "exact": "1.5",
        "unique": [1],
        "error": "ValueError('no')",
        "body": "café \\xff",
        "3": None,
    }


def test_nothing_that_is_logged_can_break_the_log(redactor):
    endless: list[object] = []
    endless.append(endless)
    assert "nested deeper" in json.dumps(redactor.clean(endless))
    assert redactor.clean(Grumpy()) == "[unprintable Grumpy: RuntimeError]"
    assert redactor.clean({Grumpy(): 1}) == {"[unprintable Grumpy: RuntimeError]": 1}
    assert redactor.clean(10**5000) == "[unprintable int: ValueError]"


def test_a_secret_of_digits_is_hidden_in_numbers():
    redactor = Redactor()
    redactor.register(["90210"])
    assert redactor.clean([90210, 1902105, 90211]) == [MASK, f"1{MASK}5", 90211]


@pytest.mark.parametrize(
    "text", ["token" * 40_000, "a=" * 100_000, "://" * 60_000, "token='" * 30_000, "token=[" * 30_000, " " * 200_000]
)
def test_long_text_is_searched_in_a_moment(redactor, text):
    start = time.process_time()
    redactor.text(text)
    assert time.process_time() - start < 2


def test_secrets_registered_for_the_process_are_hidden_by_the_module_functions():
    register_secrets([SecretStr("process-wide")])
    assert mask({"a": "is process-wide"}) == {"a": f"is {MASK}"}
    assert mask_text("is process-wide") == f"is {MASK}"
