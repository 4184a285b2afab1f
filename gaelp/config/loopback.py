"""Which addresses are of this machine alone."""

import ipaddress
import re

__all__ = ["is_loopback", "is_loopback_host"]

_PORT = re.compile(r":\d{1,5}\Z")


def is_loopback_host(header: str) -> bool:
    """Whether the Host header of a request names this machine alone, with or without a port.

    An IPv6 address is in brackets there; without them its end would be taken for a port.
    """
    return is_loopback(_PORT.sub("", header))


def is_loopback(host: str) -> bool:
    """Whether a name or address, without a port, is one of this machine alone: localhost, ::1, all of 127.0.0.0/8."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False
