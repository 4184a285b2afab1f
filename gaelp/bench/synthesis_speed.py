"""How long a synthesized history takes, from the first auction to the last row in the store."""

import tempfile
import time
from pathlib import Path

from gaelp.config.base import Frozen
from gaelp.sandbox.incumbent import SynthesisSpec
from gaelp.sandbox.spec import SandboxSpec
from gaelp.sandbox.synthesis import synthesize
from gaelp.sandbox.synthesis_rows import history_tables
from gaelp.storage.duckdb_store import DuckDbStore

__all__ = ["SynthesisSpeed", "measure_synthesis"]


class SynthesisSpeed(Frozen):
    """What `gaelp data synthesize` takes; the loops are compiled before."""

    synthesize_seconds: float  # wall time
    synthesize_cpu_seconds: float
    synthesize_weeks: int
    synthesize_campaigns: int
    synthesize_rows: int


def measure_synthesis(spec: SynthesisSpec, world: SandboxSpec) -> SynthesisSpeed:
    """Compile the loops with a small history, then time the one asked for, into a store that is thrown away."""
    synthesize(SynthesisSpec(weeks=1, campaigns=1), world)
    with tempfile.TemporaryDirectory(prefix="gaelp-bench-synthesize-") as folder:
        store = DuckDbStore(Path(folder) / "store")
        began, cpu_began = time.perf_counter(), time.process_time()
        tables = history_tables(synthesize(spec, world))
        stored = store.append(tables).stored
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
        store.close()
    return SynthesisSpeed(
        synthesize_seconds=seconds,
        synthesize_cpu_seconds=cpu_seconds,
        synthesize_weeks=spec.weeks,
        synthesize_campaigns=spec.campaigns,
        synthesize_rows=stored,
    )
