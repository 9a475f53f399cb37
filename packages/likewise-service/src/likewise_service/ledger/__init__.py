"""The ledger: records in a Merkle tree, their kinds, signatures, and the database."""
