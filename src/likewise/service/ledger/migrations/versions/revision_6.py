"""A docket's running numbers beside its ledger, so that nobody has to open it for them.

They are empty at first: whoever looks after a docket next writes them.
"""

from __future__ import annotations

from alembic import op

revision = "6"
down_revision = "5"


def upgrade() -> None:
    """Make the column."""
    op.get_bind().exec_driver_sql("ALTER TABLE dockets ADD COLUMN numbers TEXT")
