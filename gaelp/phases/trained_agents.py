"""What the trained agents of stored runs reached on their held-out episodes, for a table beside the rules."""

from pathlib import Path

from gaelp.config.base import Frozen
from gaelp.config.objective import Objective
from gaelp.config.places import absolute
from gaelp.errors import BadInput, DataError
from gaelp.market.baselines.compare import PolicyResult
from gaelp.phases.simulation_result import SimulationResult

__all__ = ["TrainedAgent", "trained_agents"]

_RESULTS = "runs/*/simulation/*/simulation.json"


class TrainedAgent(Frozen):
    """One run's agent; `result` compares it with the rules on the same held-out episodes."""

    run_id: str
    learned: bool  # False: no checkpoint did better than the rule inside, so the rule is the agent
    market: str
    objective: Objective
    episodes: int
    evaluation_seed: int  # of the held-out episodes
    result: PolicyResult


def trained_agents(home: Path) -> tuple[TrainedAgent, ...]:
    """The agent of every run below a home that was judged, by the name of the run; of several attempts the last."""
    by_run: dict[str, TrainedAgent] = {}
    for path in sorted(absolute(home).glob(_RESULTS), key=lambda path: (path.parts[-4], int(path.parts[-2]))):
        agent = _agent_of(path)
        by_run[agent.run_id] = agent
    if not by_run:
        raise BadInput(
            f"{home}: no {_RESULTS} seen, one or more wanted: give a home in which `gaelp train` or bench/agents.py"
            " has finished a run"
        )
    return tuple(by_run.values())


def _agent_of(path: Path) -> TrainedAgent:
    try:
        stored = SimulationResult.model_validate_json(path.read_bytes())
    except ValueError as problem:  # pydantic's own is one
        first = str(problem).splitlines()[0]
        raise DataError(f"{path} is no result that this release reads ({first}): move its run away") from problem
    comparison = stored.comparison
    return TrainedAgent(
        run_id=stored.run_id,
        learned=stored.learned,
        market=comparison.market,
        objective=comparison.objective,
        episodes=comparison.episodes,
        evaluation_seed=comparison.seed,
        result=comparison.of(stored.agent),
    )
