import pytest

from gaelp.config.loopback import is_loopback, is_loopback_host


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1", "[::1]"])
def test_names_of_this_machine(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "192.168.0.1", "localhost.example", "127.0.0.1.example", "::"])
def test_everything_else_is_not_this_machine(host):
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("header", "expected"), [("127.0.0.1:4280", True), ("[::1]:80", True), ("[::1]", True), ("shop.example:80", False)]
)
def test_a_host_header_may_have_a_port(header, expected):
    assert is_loopback_host(header) is expected
