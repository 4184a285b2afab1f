"""Which campaign-days are treatment (the agent bids) and which control (the incumbent bids): a switchback.

Days are numbered from 0 at the start of the release and form blocks of two. In each block a keyed hash ranks the
campaigns; the rank is a campaign's score on the first day, and one minus it on the second. The agent gets a
campaign-day whose score lies below the exposure. From this follows:

- raising the exposure keeps every treated day treated;
- on every day, and so on every weekday, the share of treated campaigns is the exposure, to within one campaign;
- at 50% each campaign has one day of each kind in every block, and which comes first is random;
- below 50% no campaign is treated on both days of a block. A block with one day of each kind has it first or second
  with the same chance, so that neither a trend nor the age of conversions favours a side.

There is no state: the same key, campaigns and percentages always give the same days. Campaigns are those of the plan;
one that is paused keeps its place, because ranks depend on the list.
"""

import hashlib
from collections.abc import Sequence

import numpy as np

from gaelp.arrays import Bools, Floats, Ints
from gaelp.errors import BadInput

__all__ = ["BLOCK_DAYS", "exposure_scores", "served_percent", "treated_days"]

BLOCK_DAYS = 2


def treated_days(key: str, campaigns: Sequence[str], percent: Sequence[float]) -> Bools:
    """Return which campaign-days are treatment, (D, N), given the planned exposure of each day in percent, (D,)."""
    return np.asarray(100 * exposure_scores(key, campaigns, len(percent)) < served_percent(percent)[:, None])


def served_percent(percent: Sequence[float]) -> Floats:
    """Return the exposure in force on each day, (D,): a higher one starts with the next block, a lower one at once.

    Otherwise a block would have different chances on its two days, and a trend could favour a side.
    """
    planned = np.asarray(percent, np.float64)
    if planned.ndim != 1 or not ((planned >= 0) & (planned <= 100)).all():
        raise BadInput(f"exposure is {percent!r}; allowed: one number from 0 to 100 for each day")
    first = planned[np.arange(len(planned)) // BLOCK_DAYS * BLOCK_DAYS]
    return np.asarray(np.minimum(planned, first))


def exposure_scores(key: str, campaigns: Sequence[str], days: int) -> Floats:
    """Return the score of each campaign on each day, (D, N), above 0 and below 1."""
    if not campaigns or len(set(campaigns)) < len(campaigns):
        raise BadInput(f"{len(campaigns)} campaigns with {len(set(campaigns))} names: give one or more, each its own")
    blocks = -(-days // BLOCK_DAYS)
    ranks = np.stack([_ranks(key, campaigns, block) for block in range(blocks)]) if days else np.zeros((0, 1))
    jitter = np.array([_hash(key, str(block), "") / 2**64 for block in range(blocks)])  # for shares that are not whole
    first = (ranks + np.clip(jitter, 1e-6, 1 - 1e-6)[:, None]) / len(campaigns)
    both = np.stack([first, 1 - first], axis=1)
    return np.asarray(both.reshape(-1, first.shape[1])[:days])


def _ranks(key: str, campaigns: Sequence[str], block: int) -> Ints:
    order = np.argsort([_hash(key, str(block), campaign) for campaign in campaigns], kind="stable")
    ranks = np.empty(len(campaigns), np.int64)
    ranks[order] = np.arange(len(campaigns))
    return ranks


def _hash(*parts: str) -> int:
    """Return 64 bits that depend on all parts and where each ends."""
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
