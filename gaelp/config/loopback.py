"""Which addresses are of this machine alone."""

import ipaddress

__all__ = ["is_loopback"]


def is_loopback(host: str) -> bool:
    """Whether a name or address, without a port, is one of this machine alone: localhost, ::1, all of 127.0.0.0/8."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False
