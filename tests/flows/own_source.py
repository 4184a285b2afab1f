"""A copy of the source for tests that add a phase to it, or kill a process at a certain line of it."""

import shutil
from pathlib import Path

from gaelp.config.places import repository_root

TREES = ("gaelp", "flows", "tasks", "configs")

KILL = '''"""Ends the process with SIGKILL at a named step, once, where a file asks for it."""

import os
import signal
from pathlib import Path

__all__ = ["at"]


def at(step):
    """Die here if asked to."""
    asked = Path(os.environ["GAELP_HOME"]) / f"kill-{step}"
    if asked.exists():
        asked.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
'''

TOY = '''"""A phase that takes no time, or as long as a file keeps it waiting."""

import os
import time
from pathlib import Path

from gaelp import kill_switch_of_tests as kill
from gaelp.gates import Evidence, judge
from gaelp.phases.declaration import Assignment, PhaseDeclaration, file_hash
from gaelp.phases.phase_result import PhaseResult
from gaelp.types import Phase

__all__ = ["{NAME}"]


def _work(given: Assignment) -> PhaseResult:
    folder = given.folder
    home = Path(os.environ["GAELP_HOME"])
    folder.path.mkdir(parents=True, exist_ok=True)
    with (folder.path / "begun").open("a", encoding="ascii") as file:
        file.write(f"{{os.getpid()}}\\n")
    while {LONG} and (home / "wait").exists():
        time.sleep(0.2)
    if {LONG}:
        kill.at("in-the-phase")
    model = folder.path / "model.bin"
    before = given.previous.model_file(given.settings.home).read_bytes() if given.previous else b"made of"
    model.write_bytes(before + f" {{folder.phase}}".encode())
    metrics = {{"roi": 0.5, "campaigns": 10.0, "rounds": float(given.settings.training.rounds or 0)}}
    now = given.clock.now()
    evidence = Evidence(
        run_id=folder.run_id, agent="toy", learned=True, config_hash="c", measured_at=now, metrics=metrics
    )
    previous = given.previous
    return PhaseResult(
        phase=folder.phase,
        run_id=folder.run_id,
        attempt=given.attempt,
        agent="toy",
        learned=True,
        model="model.bin",
        model_hash=file_hash(model),
        verdict=judge(given.gate, evidence, now),
        seconds=0.0,
        judged_on="toy",
        text=f"saw {{previous.phase}} {{previous.attempt}} {{previous.model_hash}}" if previous else "saw nothing",
    )


{NAME} = PhaseDeclaration(
    phase=Phase.{NAME}, work=_work, second_attempt="never_spend_again", inconclusive="hold", long_running={LONG}
)
'''

GATE = """name: {name}
follows: {name}
criteria:
  - {{metric: roi, bound: at_least, threshold: 0, compare: value, sample_metric: campaigns, minimum_sample: 5, why: x}}
"""


def copy_source(folder: Path) -> Path:
    """The source below a folder of its own; put it first on PYTHONPATH to run it."""
    for tree in TREES:
        shutil.copytree(repository_root() / tree, folder / tree)  # with what is compiled, or it takes minutes
    (folder / "gaelp" / "kill_switch_of_tests.py").write_text(KILL, encoding="utf-8")
    return folder


def add_phase(source: Path, phase: str, *, long_running: bool = False, alone: bool = False) -> list[Path]:
    """Add a phase the way CONTRIBUTING says; returns the files that were touched."""
    module = source / "gaelp" / "phases" / f"{phase}.py"
    module.write_text(TOY.format(NAME=phase.upper(), LONG=long_running), encoding="utf-8")
    gate = source / "configs" / "gates" / f"{phase}.yaml"
    gate.write_text(GATE.format(name=phase), encoding="utf-8")
    declared = source / "gaelp" / "phases" / "declared.py"
    text = declared.read_text(encoding="utf-8")
    imported = f"from gaelp.phases.{phase} import {phase.upper()}\n"
    text = text.replace("from gaelp.types", f"{imported}from gaelp.types")
    text = text.replace(")  # fmt: skip", f"    {phase.upper()},\n)  # fmt: skip")
    if alone:  # without training: seconds less
        text = text.replace("    SIMULATION,\n", "").replace(
            "from gaelp.phases.simulation_declaration import SIMULATION\n", ""
        )
    declared.write_text(text, encoding="utf-8")
    return [module, gate, declared]


def die_at(source: Path, file: str, before: str, step: str) -> None:
    """Have a process die right before a line of the source, once `kill-STEP` is in its home."""
    path = source / file
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, before
    line = text[: text.index(before)].rsplit("\n", 1)[-1]
    path.write_text(
        text.replace(
            before, f'__import__("gaelp.kill_switch_of_tests").kill_switch_of_tests.at("{step}")\n{line}{before}'
        ),
        encoding="utf-8",
    )
