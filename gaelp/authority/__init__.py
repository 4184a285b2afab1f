"""Who may spend: signatures required for a change, limits changed under them, and the record in the audit log."""
