"""The HTTP side: the emergency stop, and the figures for Prometheus."""

from gaelp.api.app import create_app
from gaelp.api.money_figures import read_figures
from gaelp.api.serving import address, serve, serving, with_free_port

__all__ = ["address", "create_app", "read_figures", "serve", "serving", "with_free_port"]
