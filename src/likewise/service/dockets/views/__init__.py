"""What a ledger says: rounds, each a fold over its own records, and the numbers of a docket."""
