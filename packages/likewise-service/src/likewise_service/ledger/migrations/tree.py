"""Records are entries of a Merkle tree; before this revision they were links of a hash chain."""

from likewise_service.errors import StoreError

revision = "3"
down_revision = "2"


def upgrade() -> None:
    """Refuse: the hash of every record covered the one before it, and records never change."""
    raise StoreError(
        "Its ledgers are hash chains, and now they are trees, with other hashes for all records. "
        "Keep this database for the Likewise that wrote it, and begin a new one."
    )
