import sys

import pytest

from gaelp.bench.market_peers import PEERS, measure_peer
from gaelp.errors import ComponentMissing


@pytest.fixture
def peer(tmp_path, monkeypatch):
    """Write the script of a peer that this interpreter runs."""
    (tmp_path / "python").symlink_to(sys.executable)
    monkeypatch.setitem(PEERS, "mine", ("python", "peer.py"))

    def write(script):
        (tmp_path / "peer.py").write_text(script, encoding="utf-8")
        return tmp_path

    return write


def test_a_peer_that_is_not_installed_is_none(tmp_path):
    assert measure_peer("rtbgym", tmp_path, 1.0) is None


def test_the_speed_is_in_the_last_line_of_the_peer(peer):
    folder = peer("print('warming up'); print('{\"steps_per_s\": 12.5}')")
    assert measure_peer("mine", folder, 1.0) == 12.5


def test_a_peer_that_fails_is_an_error_with_its_last_line(peer):
    with pytest.raises(ComponentMissing, match=r"exit code 1: out of memory.*make bench-peers"):
        measure_peer("mine", peer("raise SystemExit('out of memory')"), 1.0)
