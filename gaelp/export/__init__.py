"""Registered models as files that serve without training code: network, rule, features, and a proof of equal bids."""
