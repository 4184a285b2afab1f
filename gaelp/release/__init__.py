"""Phase 4's parts: who gets which bids, what is compared, when exposure grows or ends, and how budgets follow proof."""
