"""A job server with external workers on this machine: the portable job API that Flink and Dataflow use, without them.

    python -m beam_pipelines.local_cluster episode_metrics --decisions 'data/decisions/**.parquet' --output metrics

Workers are processes of their own that get the pipeline over gRPC, so a job that runs here does not depend on the
process that started it.
"""

import importlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.runners.portability.local_job_service import BeamJob, LocalJobServicer
from apache_beam.runners.worker.worker_pool_main import BeamFnExternalWorkerPoolServicer

from gaelp.errors import GaelpError

__all__ = ["local_cluster"]

_START_SECONDS = 60.0


@contextmanager
def local_cluster(workers: int = 2, *, processes: bool = True) -> Iterator[list[str]]:
    """Start a job server and a pool of workers; yields the options that send a job to them.

    Workers are threads if not `processes`: that starts at once, and still everything passes over gRPC.
    """
    servicer = LocalJobServicer(beam_job_type=_job_type(workers))
    port = servicer.start_grpc_server()
    try:
        with _process_pool() if processes else _thread_pool() as pool_address:
            yield [
                "--runner=PortableRunner",
                f"--job_endpoint=localhost:{port}",
                "--environment_type=EXTERNAL",
                f"--environment_config={pool_address}",
            ]
    finally:
        servicer.stop()


@contextmanager
def _process_pool() -> Iterator[str]:
    port = _free_port()
    pool = _start_pool(port)
    try:
        _wait_for(port, pool)
        yield f"localhost:{port}"
    finally:
        pool.send_signal(signal.SIGINT)  # it ends its workers when interrupted, not when terminated
        pool.wait()


@contextmanager
def _thread_pool() -> Iterator[str]:
    address, server = BeamFnExternalWorkerPoolServicer.start()
    try:
        yield address
    finally:
        server.stop(0)


def _job_type(workers: int) -> type[BeamJob]:
    """A job that uses so many workers; the job server of Beam always uses one."""

    class SpreadJob(BeamJob):
        def _invoke_runner(self) -> Any:
            runner = FnApiRunner(provision_info=self._provision_info)
            runner._num_workers = workers
            options = self.pipeline_options()  # type: ignore[no-untyped-call]
            return runner.run_via_runner_api(self._pipeline_proto, options)

    return SpreadJob


def _start_pool(port: int) -> "subprocess.Popen[bytes]":
    """A worker pool that starts each worker as `python`: ours has to be the first on the path, or the job hangs."""
    environment = dict(os.environ)
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', '')}"
    environment["PYTHONPATH"] = os.pathsep.join(part for part in sys.path if part)
    command = [sys.executable, "-m", "apache_beam.runners.worker.worker_pool_main", f"--service_port={port}"]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        port: int = listener.getsockname()[1]
        return port


def _wait_for(port: int, pool: "subprocess.Popen[bytes]") -> None:
    """Wait until the pool answers."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and pool.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("localhost", port)) == 0:
                return
        time.sleep(0.1)
    raise GaelpError(
        f"the worker pool did not answer on port {port} within {_START_SECONDS:.0f} s (it returned {pool.poll()})"
    )


def _main(words: list[str]) -> int:
    if not words or words[0].startswith("-"):
        sys.stdout.write(f"{__doc__}\n")
        return 0
    job = importlib.import_module(f"beam_pipelines.{words[0]}")
    with local_cluster() as for_beam:
        report = job.run([*words[1:], *for_beam])
    sys.stdout.write(f"{report.model_dump_json(indent=1)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
