"""Traffic: which version decides for which campaign, and which versions decide in its shadow."""

import hashlib
from typing import Self

import numpy as np
from pydantic import Field, PositiveInt, model_validator

from gaelp.arrays import Floats, Ints
from gaelp.config.base import Frozen

__all__ = ["Traffic", "campaign_score"]


class Traffic(Frozen):
    """Percent of campaigns by version; a campaign stays with its version until the shares move past it.

    Each campaign has a fixed score from 0 to 100. The newest version gets the lowest scores, so raising its share moves
    campaigns to it and none between the others.
    """

    shares: dict[PositiveInt, float] = Field(min_length=1, max_length=10, description="percent by version; sums to 100")
    shadow: tuple[PositiveInt, ...] = Field(default=(), max_length=4, description="versions that decide beside it")
    why: str = Field(min_length=1, max_length=200, description="for whoever asks later")

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if any(not 0 < share <= 100 for share in self.shares.values()) or abs(sum(self.shares.values()) - 100) > 1e-6:
            raise ValueError(
                f"shares add up to {sum(self.shares.values()):g}; allowed: shares above 0 that add up to 100"
            )
        if twice := set(self.shadow) & set(self.shares) or len(set(self.shadow)) < len(self.shadow):
            raise ValueError(f"a shadow is listed twice or has a share ({twice}): name other versions")
        return self

    @property
    def versions(self) -> tuple[int, ...]:
        """Those with a share, the newest first."""
        return tuple(sorted(self.shares, reverse=True))

    def assigned(self, scores: Floats) -> Ints:
        """The version of campaigns with these scores, (N,)."""
        ends = np.cumsum([self.shares[version] for version in self.versions])
        place = np.minimum(np.searchsorted(ends, scores, side="right"), len(ends) - 1)
        return np.asarray(np.array(self.versions, np.int64)[place])

    def alternatives(self, version: int) -> tuple[int, ...]:
        """The other versions with a share, the largest first."""
        return tuple(sorted((other for other in self.shares if other != version), key=lambda v: -self.shares[v]))


def campaign_score(name: str) -> float:
    """A score from 0 to below 100 that depends on the name alone: the same after every restart, on every machine."""
    number = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8, person=b"gateway").digest(), "big")
    return 100.0 * (number >> 11) / 2**53
