"""The ledger: records, payloads, and the database that keeps them."""
