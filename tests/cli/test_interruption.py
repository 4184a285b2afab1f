import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gaelp.cli.interruption import ctrl_c_ends, forget_watched, stop_message, stopped_by_hand, watch
from gaelp.config.places import repository_root

NOTHING = "interrupted; nothing was written\n"

# Ctrl-C at a known moment: when the module named first is about to be imported.
INTERRUPTED_IMPORT = """
import os, runpy, signal, sys

_, module, entry, *arguments = sys.argv
sys.argv = ["gaelp", *arguments]

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
if entry == "script":
    from gaelp.cli.main import run
    run()
else:
    runpy.run_module("gaelp.cli", run_name="__main__")
"""


@pytest.mark.parametrize(("entry", "module"), [("script", "typer"), ("module", "pydantic"), ("script", "numba")])
def test_ctrl_c_during_the_imports_is_one_line_and_130(gaelp_process, entry, module):
    done = gaelp_process("-c", INTERRUPTED_IMPORT, module, entry, "market", "compare", "--episodes", "2")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", NOTHING)


def test_ctrl_c_during_a_search_is_one_line_and_130(here):
    (here / "small.yaml").write_text("name: small\ndays: 1\nsegments: 2\n", encoding="utf-8")
    command = [sys.executable, "-m", "gaelp.cli", "market", "tune", "small.yaml", "--trials", "10000"]
    env = {**os.environ, "PYTHONPATH": str(repository_root())}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as running:
        assert running.stderr.readline() == "Tuning 12 bidders ...\n"
        running.send_signal(signal.SIGINT)
        out, told = running.communicate(timeout=60)
    assert (running.returncode, out, told) == (130, "", NOTHING)
    assert [path.name for path in here.iterdir()] == ["small.yaml"]


@pytest.fixture
def watched(tmp_path):
    forget_watched()
    (tmp_path / "old").touch()
    os.utime(tmp_path / "old", (1, 1))
    watch(tmp_path)
    watch(tmp_path.parent / "never-made.yaml")
    yield tmp_path
    forget_watched()


def test_what_was_there_before_was_not_written(watched):
    assert stop_message() + "\n" == NOTHING


def test_what_was_written_is_named_by_its_place(watched):
    (watched / "runs").mkdir()
    (watched / "runs" / "checkpoint").touch()
    assert stop_message() == f"interrupted; what was written until then is in {watched}"


def test_a_stop_that_was_interrupted_before_it_began_does_not_call_itself_stopped(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["gaelp", "kill", "now"])
    assert stop_message().startswith("NOT STOPPED")


def test_a_service_that_ctrl_c_ends_is_not_called_interrupted(watched):
    ctrl_c_ends("the HTTP server")
    assert stop_message() == "the HTTP server has ended"
    forget_watched()
    assert stop_message().startswith("interrupted")


def test_a_place_is_watched_from_the_current_folder_on(watched, monkeypatch):
    monkeypatch.chdir(watched)
    watch(Path("tuned.yaml"))
    (watched / "tuned.yaml").touch()
    assert str(watched / "tuned.yaml") in stop_message()


def test_an_interruption_is_seen_behind_the_exception_of_a_library():
    def of(error, behind=None):
        error.__cause__ = behind
        return error

    assert stopped_by_hand(of(RuntimeError(), of(ImportError(), KeyboardInterrupt())))
    assert not stopped_by_hand(of(RuntimeError(), ValueError()))


@pytest.mark.parametrize("words", [("--help",), ("market", "list"), ("config", "show", "--json"), ("nothing",)])
def test_a_reader_that_leaves_early_is_no_error_of_the_command(here, words):
    env = {**os.environ, "PYTHONPATH": str(repository_root())}
    command = [sys.executable, "-m", "gaelp.cli", *words]
    reader, writer = os.pipe()
    os.close(reader)
    try:
        errors = writer if words == ("nothing",) else subprocess.PIPE
        done = subprocess.run(command, stdout=writer, stderr=errors, text=True, check=False, env=env, timeout=60)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr or "") == (141, "")


def test_a_broken_pipe_elsewhere_is_reported(run_failing):
    result = run_failing(BrokenPipeError(32, "Broken pipe", "/run/some-server"))
    assert (result.exit_code, "/run/some-server: Broken pipe" in result.stderr) == (1, True)
