"""Phase 3's parts: the plan of a pilot, the control loop that lets an agent drive campaigns, and the evidence."""
