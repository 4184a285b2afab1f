"""Phase 2: splits of logged campaigns, fidelity of the market, and off-policy estimates."""
