"""Bids of exported versions over HTTP: micro-batched decisions, traffic between versions, hot swap, shadow."""
