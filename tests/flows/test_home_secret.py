"""The password of a home's server and the proof that a server knows it."""

import pytest

from flows.environment import prefect_home
from flows.home_secret import home_id, password, password_file, proof
from gaelp.errors import BadInput


@pytest.fixture
def home(tmp_path):
    prefect_home(tmp_path).mkdir()
    return tmp_path


def test_the_password_is_created_once_and_is_private(home):
    first = password(home)
    assert password(home) == first
    assert len(first) > 40
    assert password_file(home).stat().st_mode & 0o777 == 0o600
    assert home_id(home) == home_id(home)
    assert {file.name for file in prefect_home(home).iterdir()} == {"password", "home-id"}


def test_a_password_that_others_can_read_or_guess_is_refused(home):
    password(home)
    password_file(home).chmod(0o644)
    with pytest.raises(BadInput, match="chmod 600"):
        password(home)
    password_file(home).write_text("short\n", encoding="ascii")
    password_file(home).chmod(0o600)
    with pytest.raises(BadInput, match="5 characters"):
        password(home)


def test_an_operator_may_write_a_password_of_their_own(home):
    password(home)
    password_file(home).write_text("ops:correct horse battery staple\n", encoding="ascii")
    assert password(home) == "ops:correct horse battery staple"


@pytest.mark.parametrize("other", [("x" * 20, "c", 1), ("p" * 20, "d", 1), ("p" * 20, "c", 2)])
def test_a_proof_is_of_one_password_one_challenge_and_one_port(other):
    assert proof("p" * 20, "c", 1) != proof(*other)
