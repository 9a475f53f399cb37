"""The live system: decisions, a console for human auditors, a ledger that can be replayed."""

__version__ = "0.1.0"
