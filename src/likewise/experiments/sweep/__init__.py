"""Sweeps: every scenario with every learner and seed, from a TOML file to tables and figures."""
