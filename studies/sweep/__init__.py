"""Sweeps: scenarios × learners × seeds, from TOML to rows, tables and figures."""
