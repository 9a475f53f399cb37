"""Views of a ledger: rounds, each a fold over its own records, and the numbers of a docket."""
