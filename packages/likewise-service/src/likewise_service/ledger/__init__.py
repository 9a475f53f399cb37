"""The ledger: records in a hash chain, their kinds, signatures, and the database."""
