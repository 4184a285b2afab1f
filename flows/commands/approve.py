"""How the gates of a run in a terminal are decided."""

from enum import StrEnum

__all__ = ["Approve"]


class Approve(StrEnum):
    """Ask in the terminal, or approve what passes."""

    PROMPT = "prompt"
    AUTO = "auto"
