"""Promote version 2 in a home, and kill this process before the given step: `registry_killer.py HOME STEP`."""

import os
import signal
import sys
from pathlib import Path

from gaelp.config import load_settings
from gaelp.gates.decision_store import DecisionStore, decisions_place
from gaelp.registry import audit_trail, mlflow_view, open_registry, record_keeper


def main(home, stop_at):
    steps = iter(range(1, 1000))

    def counted(call):
        def step(*args, **options):
            if next(steps) == stop_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **options)

        return step

    connect = mlflow_view.connect_client

    def connected(path):
        client = connect(path)
        client.set_registered_model_alias = counted(client.set_registered_model_alias)
        return client

    settings = load_settings(None, overrides=[f"home={home}", "run.name=shop"]).settings
    registry = open_registry(settings)
    mlflow_view.connect_client = connected
    record_keeper.add_record = counted(record_keeper.add_record)
    audit_trail.AuditTrail.add = counted(audit_trail.AuditTrail.add)
    audit_trail.AuditTrail.note_shown = counted(audit_trail.AuditTrail.note_shown)
    registry = open_registry(settings)
    registry.promote("shop", 2, "champion", DecisionStore(decisions_place(settings)), by="ann", why="it passed")


main(Path(sys.argv[1]), int(sys.argv[2]))
