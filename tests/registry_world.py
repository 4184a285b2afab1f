"""A home with a registry: models that were judged, people who approve, and MLflow's tables.

tests/conftest.py loads it by its path, for tests are not a package.
"""

import hashlib
import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path

from gaelp.clock import ManualClock
from gaelp.config import load_settings
from gaelp.gates import judge, load_gate
from gaelp.gates.decision_store import DecisionStore, decisions_place
from gaelp.gates.decisions import GateDecision, GateQuestion
from gaelp.observability.mlflow_client import connect_client, import_mlflow
from gaelp.registry import DataWindow, open_registry, register_passed


@cache
def mlflow_tables():
    """A database with MLflow's tables: MLflow takes seconds to make them."""
    path = Path(tempfile.mkdtemp(prefix="gaelp-mlflow-")) / "mlflow.db"
    import_mlflow(os.environ)
    connect_client(path)
    content = path.read_bytes()
    shutil.rmtree(path.parent)
    return content


def new_world(home, runs, evidence):
    """A home in which nothing is registered yet; the files of runs are below `runs`.

    A home that was used before is emptied: MLflow takes half a second for each path that it has not opened before.
    """
    home.mkdir(mode=0o700, exist_ok=True)
    for path in home.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif not path.name.startswith("mlflow.db"):
            path.unlink()
    with closing(sqlite3.connect(":memory:")) as tables, closing(sqlite3.connect(home / "mlflow.db")) as database:
        tables.deserialize(mlflow_tables())
        tables.backup(database)  # MLflow may hold it open
    return World(home, runs, evidence)


@dataclass
class World:
    """A home, and what happens in it."""

    home: Path
    folder: Path  # of the runs' files, outside the home
    evidence: object  # tests/gate_evidence.py
    clock: ManualClock = field(init=False)

    def __post_init__(self):
        self.clock = ManualClock(self.evidence.NOW)

    @property
    def settings(self):
        return load_settings(None, overrides=[f"home={self.home}", "run.name=shop"]).settings

    @property
    def decisions(self):
        return DecisionStore(decisions_place(self.settings))

    def open(self):
        return open_registry(self.settings, self.clock)

    def model_file(self, run_id, content=None):
        path = self.folder / run_id / "policy.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_bytes(content or hashlib.sha512(run_id.encode()).digest() * 4)
            (path.parent / "rules.yaml").write_text("rule: constant\nbid_micros: 250000\n")
        return path

    def model_hash(self, run_id):
        return hashlib.sha256(self.model_file(run_id).read_bytes()).hexdigest()

    def verdict(self, run_id, gate="simulation", **changes):
        rules = load_gate(gate)
        return judge(rules, self.evidence.passing(rules, run_id=run_id, **changes), self.clock.now())

    def ask(self, verdict, model_hash=None):
        now = self.clock.now()
        question = GateQuestion(
            run_id=verdict.evidence.run_id,
            gate=verdict.gate.name,
            attempt=1,
            verdict=verdict,
            model_hash=model_hash or self.model_hash(verdict.evidence.run_id),
            opened_at=now,
            remind_at=now + timedelta(hours=1),
            expires_at=now + timedelta(hours=3),
        )
        return self.decisions.ask(question)

    def decide(self, question, choice="approve", **changes):
        values = {"who": "Ada", "why": "every rule holds", "through": "command"}
        return self.decisions.decide(
            GateDecision(
                run_id=question.run_id,
                gate=question.gate,
                evidence_hash=question.evidence_hash,
                choice=choice,
                decided_at=question.opened_at + timedelta(minutes=1),
                **values | changes,
            )
        )

    def register(self, run_id, verdicts=None, **changes):
        model = self.model_file(run_id)
        values = {
            "clock": self.clock,
            "run_id": run_id,
            "attempt": 1,
            "agent": "agent (ppo)",
            "learned": True,
            "model_hash": self.model_hash(run_id),
            "model": model,
            "verdicts": verdicts or [self.verdict(run_id)],
            "feature_version": "market-view-1",
            "config_hash": "c0ffee",
            "more_files": {"parameters/rules.yaml": model.parent / "rules.yaml"},
            "data_windows": (DataWindow(name="held-out", source="market cal, seed 7"),),
            "commit": "ab" * 20,
            "dirty": False,
            "packages": {"numpy": "2.3.1", "torch": None},
        }
        return register_passed(self.settings, **values | changes)

    def approve(self, run_id, **changes):
        """A version of a run whose gate was approved."""
        verdict = self.verdict(run_id)
        self.decide(self.ask(verdict), **changes)
        return self.register(run_id, [verdict]).manifest.version

    def promote(self, version, alias="champion", **changes):
        values = {"by": "ann", "why": "it passed", "decisions": self.decisions}
        return self.open().promote("shop", version, alias, **values | changes)
