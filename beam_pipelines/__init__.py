"""Beam jobs between the phases: each module wires functions of `gaelp.jobs` into transforms and has `run(argv)`."""
