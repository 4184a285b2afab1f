"""Start a Beam job as a process of its own, follow its progress, and return its report.

Beam takes seconds to import and hundreds of megabytes: a process of its own gives both back when the job ends, and
keeps Beam out of everything that only wants its result.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from gaelp.errors import BadInput, GaelpError

__all__ = ["OnJobProgress", "run_pipeline"]

OnJobProgress = Callable[[int, int], None]  # finished shards, all shards

_SHOWN_CHARACTERS = 4000


def run_pipeline(
    job: str, words: Sequence[str], on_progress: OnJobProgress = lambda _done, _total: None
) -> dict[str, Any]:
    """Run `python -m beam_pipelines.JOB` with these options; GaelpError has what it said if it fails."""
    command = [sys.executable, "-m", f"beam_pipelines.{job}", *words, "--json_lines"]
    report: dict[str, Any] | None = None
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
            try:
                for line in process.stdout or ():
                    report = _read_line(line, on_progress) or report
                code = process.wait()
            except BaseException:
                process.kill()
                raise
        if code == 0 and report is not None:
            return report
        errors.seek(0)
        said = errors.read()[-_SHOWN_CHARACTERS:].strip()
    kind = BadInput if code == BadInput.exit_code else GaelpError
    raise kind(f"the job {job} ended with {code}: {said}")


def _read_line(line: str, on_progress: OnJobProgress) -> dict[str, Any] | None:
    """Show progress; return the report if this line is one. Other lines are what libraries print."""
    try:
        content = json.loads(line)
    except ValueError:
        return None
    if not isinstance(content, dict):
        return None
    if progress := content.get("progress"):
        on_progress(progress["done"], progress["total"])
    report = content.get("report")
    return report if isinstance(report, dict) else None
