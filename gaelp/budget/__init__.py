"""Who may spend how much: the ledger, caps, pacing, rules and the kill switch.

Nothing is re-exported: the rules are plain arithmetic, and must not load the database that the ledger needs.
"""
