import subprocess
import sys
from pathlib import Path

import pytest

from gaelp.errors import ActionError, BadInput, ComponentMissing, GaelpError, Refused, WaitingForPerson


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (GaelpError("x"), 1),
        (BadInput("x"), 2),
        (ActionError("x"), 2),
        (Refused("x"), 3),
        (WaitingForPerson("x"), 4),
        (ComponentMissing("x"), 1),
        (ValueError("x"), 1),
        (OSError(28, "No space left on device"), 1),
    ],
)
def test_each_kind_of_failure_has_its_exit_code(run_failing, error, code):
    assert run_failing(error).exit_code == code


def test_a_known_failure_is_one_message_on_stderr(run_failing):
    result = run_failing(Refused("gate said no: reward 0.61, at least 0.70"))
    assert (result.stdout, result.stderr) == ("", "error: gate said no: reward 0.61, at least 0.70\n")


def test_waiting_for_a_person_is_not_called_an_error(run_failing):
    result = run_failing(WaitingForPerson("run 7 waits at gate simulation"))
    assert (result.exit_code, result.stderr) == (4, "waiting: run 7 waits at gate simulation\n")


def test_a_real_process_words_success_and_waiting_as_what_they_are(gaelp_process, here):
    (here / ".gaelp").mkdir(mode=0o700)
    checked = gaelp_process("-m", "gaelp.cli", "config", "check", "production")
    assert (checked.returncode, checked.stdout[:20], checked.stderr) == (0, "production is valid.", "")
    gaelp_process("-m", "gaelp.cli", "kill", "a drill")
    revived = gaelp_process("-m", "gaelp.cli", "revive")
    assert (revived.returncode, "error" in revived.stderr) == (4, False)
    assert revived.stderr.startswith("waiting: ")


def test_an_unknown_failure_says_how_to_learn_more(run_failing):
    result = run_failing(ZeroDivisionError("division by zero"))
    assert result.stderr.startswith("error: unexpected ZeroDivisionError: division by zero.")
    assert "--debug" in result.stderr
    assert "Traceback" not in result.stderr


def test_what_the_machine_refuses_is_told_with_path_and_room_and_is_no_defect(run_failing, tmp_path):
    result = run_failing(OSError(28, "No space left on device", str(tmp_path / "below" / "file")))
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {tmp_path}/below/file: No space left on device (")
    assert f"GB free at {tmp_path}): make room there" in result.stderr
    assert "defect" not in result.stderr


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), TimeoutError(), OSError(9, "Bad descriptor", 3)])
def test_what_the_machine_refuses_without_a_path_is_no_defect(run_failing, error):
    result = run_failing(error)
    assert "the machine refused" in result.stderr
    assert "defect" not in result.stderr


def test_too_little_memory_is_no_defect(run_failing):
    result = run_failing(MemoryError("Unable to allocate 745. GiB"))
    assert (result.exit_code, "defect" in result.stderr) == (1, False)
    assert "745. GiB): ask for less" in result.stderr


@pytest.mark.parametrize("args", [("config", "show", "--json"), ("config", "show"), ("--help",)])
def test_a_full_disk_behind_stdout_is_told_as_such(here, args):
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gaelp.cli", *args], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert "standard output" in done.stderr
    assert "No space left on device" in " ".join(done.stderr.split())
    assert "defect" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_closed_stdout_is_no_defect(gaelp_process):
    command = f"{sys.executable} -m gaelp.cli config show >&-"
    done = gaelp_process("-c", f"import subprocess; subprocess.run({command!r}, shell=True, check=True)")
    assert (done.returncode, "error" in done.stderr) == (0, False)


def test_brackets_in_a_message_are_shown_as_they_are(run_failing):
    assert "parts[0] [red]" in run_failing(BadInput("parts[0] [red]")).stderr
