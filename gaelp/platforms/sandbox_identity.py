"""What identifies the sandbox to a connector: the name in its certificate, and the header that carries its time."""

__all__ = ["SANDBOX_ORGANISATION", "SANDBOX_TIME_HEADER"]

SANDBOX_ORGANISATION = "GAELP sandbox"  # in the subject of its self-signed certificate; no real platform has it
SANDBOX_TIME_HEADER = "gaelp-sandbox-time"  # of every answer: its simulated time, such as 2026-03-01T12:00:00Z
