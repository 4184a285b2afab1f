"""The peer of the gateway: the same agent behind plain FastAPI and PyTorch, as one writes it in an afternoon.

Requests have the same form. Each is decided by itself: no batching, no ONNX Runtime, no traffic and no admin routes.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from fastapi import FastAPI, HTTPException, Request

from gaelp.bench.gateway_requests import bench_agent
from gaelp.gateway.wire import BRIEF_COLUMNS, OBSERVATION_COLUMNS, Sizes, from_json, observation_of, request_model
from gaelp.market.campaign_rows import join, join_states, take, take_state
from gaelp.market.market import seeds_from
from gaelp.market.view import Brief
from gaelp.types import PolicyState

__all__ = ["create_peer"]

_MOST = 2000


def create_peer() -> FastAPI:
    """The application; its campaigns are kept one by one in a dictionary."""
    app, agent = FastAPI(), bench_agent()
    agent.market.reset(seeds_from(0, 1))
    template = agent.market.brief
    sizes = Sizes(template.segments, template.creatives, len(template.persona_traits))
    briefs: dict[str, Brief] = {}
    states: dict[str, PolicyState] = {}
    brief_model = request_model("Campaigns", BRIEF_COLUMNS, _MOST)
    observation_model = request_model("Observations", OBSERVATION_COLUMNS, _MOST)

    @app.put("/campaigns")
    async def begin(request: Request) -> dict[str, int]:
        """Begin flights of campaigns."""
        rows = from_json(await request.body(), brief_model, BRIEF_COLUMNS, sizes)
        columns: dict[str, Any] = dict(rows.arrays)
        brief = replace(template, **columns)
        agent.policy.begin(brief)
        state = agent.policy.state()
        for place, name in enumerate(rows.campaigns):
            briefs[name], states[name] = take(brief, [place]), take_state(state, [place])
        return {"known": len(briefs)}

    @app.post("/decisions")
    async def decide(request: Request) -> dict[str, list[dict[str, object]]]:
        """Bids of campaigns."""
        rows = from_json(await request.body(), observation_model, OBSERVATION_COLUMNS, sizes)
        if any(name not in briefs for name in rows.campaigns):
            raise HTTPException(404, "unknown campaign")
        brief = join([briefs[name] for name in rows.campaigns])
        agent.policy.load_state(brief, join_states([states[name] for name in rows.campaigns]))
        action = agent.policy.act(observation_of(rows))
        state = agent.policy.state()
        for place, name in enumerate(rows.campaigns):
            states[name] = take_state(state, [place])
        pace = np.ones(len(rows.campaigns)) if action.pace is None else action.pace
        return {
            "decisions": [
                {"campaign": name, "bid_micros": bids, "pace": rate}
                for name, bids, rate in zip(rows.campaigns, action.bid_micros.tolist(), pace.tolist(), strict=True)
            ]
        }

    return app
