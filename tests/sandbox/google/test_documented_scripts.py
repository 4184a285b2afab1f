"""docs/sandbox.md stands alone: its scripts, word for word, in processes of their own, do what it says they do."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gaelp.sandbox.sandbox_process import StartOptions
from gaelp.sandbox.spec import load_sandbox_spec
from gaelp.sandbox.start_process import running_sandbox

DOCUMENT = Path(__file__).resolve().parents[3] / "docs/sandbox.md"
CUSTOMER = "1000000001"
THREE_DAYS_SECONDS = 3 * 24 * 3600


def documented(name):
    """The first Python block that follows the name of a script."""
    text = DOCUMENT.read_text(encoding="utf-8")
    block = re.search(r"```python\n(.*?)```", text[text.index(f"`{name}`") :], re.DOTALL)
    assert block, f"{DOCUMENT} has no script after {name}"
    return block[1]


@pytest.fixture
def folder(tmp_path):
    for name in ("first_campaign.py", "report.py", "fault.py"):
        (tmp_path / name).write_text(documented(name))
    return tmp_path


def run(folder, script):
    environment = {**os.environ, "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(folder / ".gaelp/sandbox/certificate.pem")}
    command = [sys.executable, script, CUSTOMER]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_its_campaign_is_reported_after_three_days_and_its_faults_are_met(folder):
    options = StartOptions(spec=load_sandbox_spec(), fronts=("google",))
    with running_sandbox(folder / ".gaelp/sandbox", options) as sandbox:
        created = run(folder, "first_campaign.py")
        assert created.returncode == 0, created.stderr
        assert len(created.stdout.splitlines()) == 8  # budget, campaign, ad group, advert, four keywords
        sandbox.advance_by(THREE_DAYS_SECONDS)
        reported = run(folder, "report.py")
        assert reported.returncode == 0, reported.stderr
        assert reported.stdout == re.search(r"```\n(Shoes .*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)[1]
        assert run(folder, "fault.py").returncode == 0
        failed = run(folder, "report.py")
        assert failed.returncode != 0
        assert "UNAVAILABLE" in failed.stderr
