import pytest
from fastapi import HTTPException

from gaelp.api.callers import check_caller
from gaelp.config import load_settings

JSON = {"host": "127.0.0.1:4280", "content-type": "application/json"}
BEARER = {"host": "shop.example", "authorization": "Bearer sixteen-letters-x"}


@pytest.fixture
def local():
    return load_settings(environ={}).settings.api


@pytest.fixture
def guarded():
    return load_settings(environ={"GAELP__API__TOKEN": "sixteen-letters-x"}).settings.api


def refusal(settings, method, headers):
    with pytest.raises(HTTPException) as refused:
        check_caller(settings.token, method, headers)
    return refused.value.status_code


def test_without_a_token_a_program_on_this_machine_may_call(local):
    check_caller(local.token, "POST", JSON)
    check_caller(local.token, "GET", {"host": "localhost"})


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"host": "shop.example"}, 421),
        ({"host": ""}, 421),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": ""}, 415),
    ],
)
def test_without_a_token_a_web_page_may_not(local, changes, status):
    assert refusal(local, "POST", {**JSON, **changes}) == status


def test_with_a_token_only_the_token_counts(guarded):
    check_caller(guarded.token, "POST", BEARER)
    for word in ("", "Bearer wrong", "Basic sixteen-letters-x", "sixteen-letters-x", "Bearer sixteen-letters-é"):
        assert refusal(guarded, "GET", {**JSON, "authorization": word}) == 401
