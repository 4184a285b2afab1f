"""The peak of a process is its own, not that of the process that started it."""

import subprocess
import sys

import numpy as np

from gaelp.jobs.peak_memory import peak_memory_mb

CHILD = "from gaelp.jobs.peak_memory import peak_memory_mb; print(peak_memory_mb())"


def test_a_child_does_not_report_the_peak_of_its_parent():
    large = np.ones(30_000_000)
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=True)
    assert large.sum() > 0
    assert peak_memory_mb() > 240
    assert float(done.stdout) < 150
