"""`gaelp content` as a person or a script meets it."""

import json
import logging
import os

import pytest
import structlog
from typer.testing import CliRunner

from gaelp.cli.main import app


@pytest.fixture
def gaelp(tmp_path, monkeypatch):
    """Run the command line in this process, in an empty folder, without settings from outside."""
    for name in [name for name in os.environ if name.startswith("GAELP_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    root, ours = logging.getLogger(), logging.getLogger("gaelp")
    handlers, levels = list(root.handlers), (root.level, ours.level)
    yield lambda *args: CliRunner().invoke(app, ["content", *map(str, args)])
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    ours.setLevel(levels[1])
    logging.captureWarnings(False)
    structlog.reset_defaults()


@pytest.fixture
def written(tmp_path, advert):
    def write(*creatives):
        path = tmp_path / "adverts.json"
        path.write_text(json.dumps([one.model_dump(mode="json") for one in creatives]), encoding="utf-8")
        return path

    return write


def test_clean_creatives_exit_0(gaelp, written, advert):
    result = gaelp("check", written(advert()))
    assert result.exit_code == 0, result.output
    assert "1 allowed, 0 for review, 0 blocked." in result.stdout


def test_a_blocked_creative_exits_3_and_shows_what_and_why(gaelp, written, advert):
    result = gaelp("check", written(advert(), advert(id="bad", headline="Online C\u200basino")))
    assert result.exit_code == 3
    assert "C<U+200B>asino" in result.stdout
    assert "Gambling needs a licence" in result.stdout
    assert "\u200b" not in result.stdout


def test_a_doubtful_creative_exits_4_waits_and_is_allowed_once_approved(gaelp, written, advert):
    path = written(advert(id="claim", headline="Clinically Proven Bread"))
    assert gaelp("check", path).exit_code == 4
    waiting = json.loads(gaelp("queue", "--json").stdout)["cases"]
    assert [one["creative"]["id"] for one in waiting] == ["claim"]
    case = waiting[0]["case"]
    assert case[:12] in gaelp("queue").stdout
    done = gaelp("decide", case[:8], "approve", "--who", "anna", "--why", "study on file")
    assert (done.exit_code, done.stdout) == (0, f"claim: approved by anna (case {case[:12]}).\n")
    assert gaelp("check", path).exit_code == 0
    assert "Nothing waits" in gaelp("queue").stdout
    assert "approve by anna: study on file" in gaelp("queue", "--all").stdout
    assert gaelp("decide", case, "reject", "--who", "ben", "--why", "no").exit_code == 3


def test_blocked_wins_over_waiting(gaelp, written, advert):
    both = written(advert(id="claim", headline="Clinically Proven Bread"), advert(id="bad", headline="Online Casino"))
    result = gaelp("check", both, "--json")
    assert result.exit_code == 3
    found = json.loads(result.stdout)
    assert found["counts"] == {"allow": 0, "review": 1, "block": 1}
    assert found["verdicts"][1]["findings"][0]["excerpt"] == "Casino"


def test_a_dry_run_queues_nothing(gaelp, written, advert):
    assert gaelp("check", written(advert(headline="Clinically Proven Bread")), "--dry-run").exit_code == 4
    assert json.loads(gaelp("queue", "--json").stdout) == {"cases": []}


@pytest.mark.parametrize(
    "args",
    [
        ("check", "nothing.yaml"),
        ("decide", "12345678", "maybe", "--who", "a", "--why", "b"),
        ("decide", "1", "approve"),
    ],
)
def test_what_cannot_be_understood_exits_2(gaelp, args):
    assert gaelp(*args).exit_code == 2
