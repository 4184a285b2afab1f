"""Random walks of a state machine, each with a seed of its own, until so many different steps were made.

tests/conftest.py loads it by its path, for tests are not a package.
"""

import os
import secrets

import hypothesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test


class Steps:
    """Counts steps; one differs from another if anything before it, or it itself, does."""

    def __init__(self):
        self.made, self._past, self._seen = 0, 0, set()

    def begin(self):
        """A new machine, with nothing before its first step."""
        self._past = 0

    def make(self, *what):
        self.made += 1
        self._past = hash((self._past, what))
        self._seen.add(self._past)

    @property
    def different(self):
        return len(self._seen)


def new_seed():
    """Another one each time, so that each run sees what no run before it saw; STATEFUL_SEED repeats one."""
    return int(os.environ.get("STATEFUL_SEED") or secrets.randbits(32))


def walk(machine, steps, at_least, *, first_seed, examples, length):
    """Walk until there are that many different steps; a failure names the seed of its walk."""
    plan = settings(
        max_examples=examples,
        stateful_step_count=length,
        deadline=None,
        database=None,
        derandomize=False,  # the profile that Hypothesis takes where CI is set would repeat one walk for ever
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,),  # a shorter failure takes minutes to find, and what failed would not be told in time
    )
    seed = first_seed
    while steps.different < at_least:
        before = steps.different
        try:
            run_state_machine_as_test(hypothesis.seed(seed)(machine), settings=plan)
        except BaseException as problem:
            problem.add_note(f"This walk had the seed {seed}; STATEFUL_SEED={seed} makes a slow run begin with it.")
            raise
        assert steps.different > before, f"the walk with the seed {seed} only repeated steps of those before it"
        seed += 1
    return steps.different
