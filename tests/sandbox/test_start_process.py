"""The process of a sandbox: started, driven, killed, started again and stopped; whatever is in its way is named."""

import json
import os
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import httpx
import psutil
import pytest

from gaelp.errors import BadInput, ComponentMissing, GaelpError, Refused
from gaelp.sandbox.certificate import folder_certificate
from gaelp.sandbox.control_client import SandboxClock, SandboxHandle, connect_sandbox
from gaelp.sandbox.faults import Fault
from gaelp.sandbox.process_record import record_path, running_record
from gaelp.sandbox.sandbox_process import StartOptions, serve_sandbox
from gaelp.sandbox.start_process import running_sandbox, start_sandbox

HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def options(small_spec):
    return StartOptions(spec=small_spec, fronts=())


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory, options):
    """One process for all tests that leave it running; each begins with the world as new."""
    with running_sandbox(tmp_path_factory.mktemp("home") / "sandbox", options) as handle:
        yield handle


@pytest.fixture
def handle(sandbox):
    sandbox.reset()
    sandbox.set_faults()
    return sandbox


def test_time_is_driven_over_the_control(handle, small_spec):
    clock = SandboxClock(handle)
    assert clock.now() == small_spec.start
    assert handle.advance(small_spec.start + HOUR) == small_spec.start + HOUR
    assert handle.advance_by(90) == small_spec.start + HOUR + timedelta(minutes=1)
    handle.hold_at(small_spec.start + 3 * HOUR)
    handle.set_speed(100_000)
    deadline = time.monotonic() + 20
    while clock.now() < small_spec.start + 3 * HOUR:
        assert time.monotonic() < deadline
    with pytest.raises(Refused, match="beyond the barrier"):
        handle.advance_by(3600)
    status = handle.status()
    assert (status.speed, status.barrier, status.failure) == (100_000, small_spec.start + 3 * HOUR, None)


def test_wrong_requests_are_bad_input(handle, small_spec):
    with pytest.raises(BadInput, match="time does not run backwards"):
        handle.advance(small_spec.start - HOUR)
    with pytest.raises(BadInput, match="1 to 100000"):
        handle.set_speed(-1)
    with pytest.raises(BadInput, match="seconds"):
        handle.advance_by(-60)
    with pytest.raises(
        BadInput, match=r"^seconds: saw 1000000000000\. Input should be less than or equal to 1000000000$"
    ):
        handle.advance_by(10**12)


def test_faults_are_set_and_shown(handle):
    fault = Fault(front="google", effect="error", status="UNAVAILABLE", times=3)
    handle.set_faults([fault])
    assert handle.faults().faults == (fault,)
    handle.set_faults()
    assert handle.faults().faults == ()


def test_a_reset_begins_again_with_another_seed(handle, small_spec):
    new = handle.dump_sha256()
    handle.advance_by(3600)
    assert handle.dump_sha256() != new
    handle.reset()
    assert handle.dump_sha256() == new
    handle.reset(seed=8)
    assert (handle.status().seed, handle.now()) == (8, small_spec.start)
    handle.reset(spec=small_spec)
    assert handle.dump_sha256() == new


def test_callers_without_the_token_or_from_elsewhere_are_refused(handle):
    url = f"http://127.0.0.1:{handle.record.control_port}/status"
    authorised = {"Authorization": f"Bearer {handle.record.token}"}
    assert httpx.get(url).status_code == 401
    assert httpx.get(url, headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert httpx.get(url, headers={**authorised, "Host": "evil.example"}).status_code == 421
    assert httpx.get(url, headers=authorised).status_code == 200


def test_the_record_is_private_and_leads_to_the_sandbox(handle):
    assert record_path(handle.folder).stat().st_mode & 0o777 == 0o600
    with connect_sandbox(handle.folder) as again:
        assert again.status() == handle.status()
    assert handle.certificate_path.is_file()


def test_a_second_start_is_refused(handle, options):
    with pytest.raises(BadInput, match=rf"runs already \(process {handle.record.pid}\)"):
        start_sandbox(handle.folder, options)


def test_a_record_that_leads_to_another_home_or_program_is_noticed(handle, tmp_path):
    record_path(tmp_path).write_text(handle.record.model_dump_json())
    with pytest.raises(GaelpError, match="leads to the sandbox in"):
        connect_sandbox(tmp_path)
    record_path(tmp_path).write_text(handle.record.model_copy(update={"token": "other"}).model_dump_json())
    with pytest.raises(GaelpError, match="is not the control of the sandbox in"):
        connect_sandbox(tmp_path)


def test_killed_and_started_again_it_continues(tmp_path, options):
    folder = tmp_path / "sandbox"
    handle = start_sandbox(folder, options.model_copy(update={"parent": os.getpid()}))
    handle.advance_by(30 * 3600)
    before, now = handle.dump_sha256(), handle.now()
    psutil.Process(handle.record.pid).kill()
    deadline = time.monotonic() + 20
    while running_record(folder) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    with pytest.raises(ComponentMissing, match="does not answer"):
        handle.now()
    handle.close()
    with pytest.raises(ComponentMissing, match="no sandbox runs"):
        connect_sandbox(folder)
    with running_sandbox(folder, StartOptions(fronts=())) as again:
        assert again.record.pid != handle.record.pid
        assert (again.now(), again.dump_sha256()) == (now, before)
        assert again.certificate_path.read_bytes() == handle.certificate_path.read_bytes()
    assert not record_path(folder).exists()
    assert again.record.process() is None


def test_a_taken_port_is_named(tmp_path, options):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BadInput, match=f"port {port} of control cannot be listened on"):
            start_sandbox(tmp_path, options.model_copy(update={"ports": {"control": port}}))


def test_an_expired_certificate_is_named(tmp_path, options):
    folder_certificate(tmp_path, datetime.now(UTC) - timedelta(days=900))
    with pytest.raises(BadInput, match="expired on"):
        serve_sandbox(tmp_path, options)


def test_a_damaged_record_is_named(tmp_path):
    record_path(tmp_path).write_text(json.dumps({"pid": "x"}))
    with pytest.raises(GaelpError, match="is not the record of a sandbox"):
        connect_sandbox(tmp_path)


_STARTER = """
import os, sys
from pathlib import Path
from gaelp.sandbox.sandbox_process import StartOptions
from gaelp.sandbox.spec import load_sandbox_spec
from gaelp.sandbox.start_process import running_sandbox

if __name__ == "__main__":
    with running_sandbox(Path(sys.argv[1]), StartOptions(spec=load_sandbox_spec(), fronts=())) as handle:
        print(handle.record.pid, flush=True)
        sys.stdin.read()
"""


_FOREGROUND = """
import os, signal, sys
from pathlib import Path
from gaelp.sandbox.auctions.auction_loop import run_day
from gaelp.sandbox.sandbox_process import StartOptions, serve_sandbox
from gaelp.sandbox.spec import load_sandbox_spec


def when_up(_record):
    print(len(run_day.signatures))
    os.kill(os.getpid(), signal.SIGTERM)


serve_sandbox(Path(sys.argv[1]), StartOptions(spec=load_sandbox_spec(), fronts=()), when_up)
"""


def test_when_it_answers_its_auctions_are_compiled_so_that_no_call_waits_for_that(tmp_path):
    command = [sys.executable, "-c", _FOREGROUND, str(tmp_path / "sandbox")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert (run.returncode, run.stdout) == (0, "1\n"), run.stderr


def test_it_ends_with_the_process_that_uses_it(tmp_path):
    script = tmp_path / "starter.py"
    script.write_text(_STARTER)
    with subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "sandbox")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as starter:
        pid = int(starter.stdout.readline())
        sandbox = psutil.Process(pid)
        starter.kill()
    sandbox.wait(20)


def test_handles_do_not_end_the_sandbox(handle):
    SandboxHandle(handle.folder, handle.record).close()
    assert handle.record.process() is not None
