"""The password of the books' PostgreSQL shows up nowhere, however oddly its address is written."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gaelp.approvals import open_database
from gaelp.budget.latch import Latch
from gaelp.budget.ledger import create_ledger, open_ledger
from gaelp.config import known_secrets
from gaelp.errors import GaelpError
from gaelp.observability.redact import Redactor

NAME = "GAELP__BUDGET__DATABASE_URL"
# The two ends of a password. What stands between them is short, for it becomes a secret of this process.
FIRST, SECOND = "zqhunterx", "vkpwxjq"
ODD = ["%zz", " ", "@", "/", "?", "#", ":", "%", "%40", "%ff", "[", "]", "\\", "&", "=", "é", "'", '"']
BETWEEN = st.sampled_from(ODD) | st.text(st.sampled_from("@/?#: %&=4zé"), max_size=3)
PORTS = st.sampled_from(["1", "notaport", "65536", ""])  # nobody listens at any of them


def address(between, port="1", scheme="postgresql"):
    return f"{scheme}://g2:{FIRST}{between}{SECOND}@127.0.0.1:{port}/x"


def shows(text):
    return FIRST in text or SECOND in text


@given(BETWEEN, PORTS, st.sampled_from(["postgresql", "postgres", "mysql"]))
def test_whoever_opens_a_database_is_told_what_is_wrong_without_the_password(tmp_path_factory, between, port, scheme):
    place, latch = address(between, port, scheme), Latch(tmp_path_factory.getbasetemp() / "STOPPED")
    for opened in (
        lambda: open_ledger(place, latch),
        lambda: create_ledger(place, latch),
        lambda: open_database(place),
    ):
        with pytest.raises(GaelpError) as told:  # and nothing else: a defect is none of these
            opened()
        assert not shows(str(told.value))


@given(BETWEEN, PORTS, st.sampled_from(['failed to resolve host "{}"', "bad token {}", "{!r}"]))
def test_whatever_a_library_quotes_of_the_address_is_masked(between, port, words):
    # One redactor for each: a secret that was registered once stays.
    redactor, written = Redactor(), address(between, port)
    redactor.register(known_secrets({NAME: written}))
    quoted = {written, *known_secrets({NAME: written}), written.partition("@")[2], written.rpartition("@")[0]}
    assert not any(shows(redactor.text(words.format(part))) for part in quoted)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([("audit", "verify"), ("ledger", "show"), ("ledger", "verify", "--debug")]), BETWEEN, PORTS)
def test_a_command_does_not_show_the_password(gaelp, command, between, port):
    result = gaelp(*command, **{NAME: address(between, port)})
    assert result.exit_code in (1, 2)
    assert "defect" not in result.output
    assert "[redacted]" not in result.output  # what has to be hidden is not said in the first place
    assert not shows(result.output)


@pytest.mark.parametrize("between", ["%zz", " ", "@", "/"])
def test_a_stop_shows_the_password_neither_on_the_screen_nor_in_the_alerts(gaelp, here, between):
    (here / ".gaelp").mkdir()
    result = gaelp("kill", **{NAME: address(between)})
    assert (here / ".gaelp" / "STOPPED").exists()
    assert "fence" in result.output
    assert not shows(result.output)
    assert not any(shows(file.read_text()) for file in (here / ".gaelp").iterdir())


def test_an_address_that_cannot_be_read_is_refused_before_any_work(gaelp, tmp_path):
    result = gaelp("train", "--config", "quick-test", GAELP_HOME=str(tmp_path / "home"), **{NAME: address("%zz")})
    assert result.exit_code == 2
    assert not (tmp_path / "home" / "runs").exists()
    assert not shows(result.output)
