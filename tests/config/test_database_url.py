"""The address of a PostgreSQL is read in one way or refused, and no message shows anything of it."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.config.database_url import parse_database_url, secret_parts
from gaelp.errors import BadInput

FIRST, SECOND = "zqhunterx", "vkpwxjq"  # the two ends of a password, neither of which may be shown
UNCLEAN = {
    "two @": f"postgresql://g2:{FIRST}@{SECOND}@127.0.0.1:1/x",
    "an @ for a colon": f"postgresql://g2@{FIRST}@127.0.0.1:1/x",
    "an @ in the query": f"postgresql://db:5432/x?password={FIRST}@{SECOND}",
    "a bad percent code": f"postgresql://g2:{FIRST}%zz{SECOND}@127.0.0.1:1/x",
    "half a percent code": f"postgresql://g2:{FIRST}%4@127.0.0.1:1/x",
    "bytes that are no text": f"postgresql://g2:{FIRST}%ff{SECOND}@127.0.0.1:1/x",
    "a zero byte": f"postgresql://g2:{FIRST}%00{SECOND}@127.0.0.1:1/x",
    "a space": f"postgresql://g2:{FIRST} {SECOND}@127.0.0.1:1/x",
    "a line break": f"postgresql://g2:{FIRST}\n{SECOND}@127.0.0.1:1/x",
    "a question mark": f"postgresql://g2:{FIRST}?{SECOND}@127.0.0.1:1/x",
    "a slash before the password": f"postgresql://g/2:{FIRST}@127.0.0.1:1/x",
    "a port in words": f"postgresql://g2:{FIRST}@127.0.0.1:notaport/x",
    "an empty port": f"postgresql://g2:{FIRST}@127.0.0.1:/x",
    "a port that is too high": f"postgresql://g2:{FIRST}@127.0.0.1:65536/x",
    "a password for a port": f"postgresql://g2:{FIRST}",
    "two hosts": f"postgresql://g2:{FIRST}@one:1,two:2/x",
    "another database": f"mysql://g2:{FIRST}@127.0.0.1/x",
    "a driver": f"postgresql+asyncpg://g2:{FIRST}@127.0.0.1/x",
    "no URL": FIRST,
}


def connect_keywords(address):
    """What the driver is given."""
    url = parse_database_url(address)
    return dict(url.get_dialect()().create_connect_args(url)[1])


@pytest.mark.parametrize("address", UNCLEAN.values(), ids=UNCLEAN.keys())
def test_an_address_that_could_be_taken_apart_in_two_ways_is_refused_unseen(address):
    with pytest.raises(BadInput, match="postgresql://LOGIN@host:port/database") as refused:
        parse_database_url(address)
    assert not any(part in str(refused.value) for part in (FIRST, SECOND, "notaport"))
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_both_names_of_the_scheme_mean_the_same(scheme):
    assert connect_keywords(f"{scheme}://ann:pw@db.example:6543/books?sslmode=require") == {
        "user": "ann",
        "password": "pw",
        "host": "db.example",
        "port": 6543,
        "dbname": "books",
        "sslmode": "require",
    }


@pytest.mark.parametrize("written", ["a/b+c=d", "a%2Fb+c=d", "a%2fb%2Bc%3Dd"])
def test_a_password_of_odd_characters_is_meant_as_it_is(written):
    assert connect_keywords(f"postgresql://ann:{written}@db/books")["password"] == "a/b+c=d"


@given(st.text(min_size=1), st.text(min_size=1))
def test_every_user_and_password_can_be_written_in_percent_codes(user, password):
    if "\0" in user + password or any(0xD800 <= ord(one) <= 0xDFFF for one in user + password):
        return  # neither can be sent to a server
    found = connect_keywords(f"postgresql://{quote(user, safe='')}:{quote(password, safe='')}@db/books")
    assert (found["user"], found["password"], found["host"]) == (user, password, "db")


@given(st.text(max_size=6), st.sampled_from(["db", "[::1]", "db:5432", "db:x", ""]))
def test_what_is_accepted_leads_to_the_host_that_was_written_and_what_is_refused_is_not_shown(odd, host):
    try:
        found = connect_keywords(f"postgresql://ann:{FIRST}{odd}{SECOND}@{host}/books")
    except BadInput as problem:
        found, told = {}, str(problem)
    if not found:
        assert not any(part in told for part in (FIRST, SECOND))
        return
    assert found.get("host", "") == host.partition(":5")[0].strip("[]")
    assert (found["user"], found["dbname"]) == ("ann", "books")
    assert found["password"].startswith(FIRST)
    assert found["password"].endswith(SECOND)


@pytest.mark.parametrize(
    ("secret", "parts"),
    [
        ("postgresql://ann:hunter2@db/books", {"hunter2"}),
        ("postgresql://ann:hun%74er2@db/books", {"hun%74er2", "hunter2"}),
        ("postgresql://ann:hunter@2pwX@db/books", {"hunter@2pwX", "hunter", "2pwX"}),
        ("postgresql://ann:hunter 2pwX@db/books", {"hunter 2pwX", "hunter", "2pwX"}),
        ("postgresql://ann:hunter/2pwX@db/books", {"hunter/2pwX", "hunter", "2pwX"}),
        ("postgresql://ann@hunter2@db/books", {"hunter2"}),
        ("postgresql://ann@db/books?password=hunter2&sslmode=require", {"hunter2"}),
        ("https://ann:hunter2@hooks.example/T1", {"hunter2"}),
        ("postgresql://ann@db/books", set()),
        ("sk-planted@home", set()),
    ],
)
def test_the_password_inside_a_secret_is_a_secret_in_every_form_and_the_users_name_is_none(secret, parts):
    assert set(secret_parts(secret)) == parts
