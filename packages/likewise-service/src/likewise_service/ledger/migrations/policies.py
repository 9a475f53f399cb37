"""Policies are kept with their rounds: those of earlier rounds can be folded from the ledger."""

import sqlalchemy as sa
from alembic import op

revision = "2"
down_revision = "1"


def upgrade() -> None:
    op.create_table(
        "policies",
        sa.Column("docket", sa.Text, primary_key=True),
        sa.Column("round", sa.Text, primary_key=True),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )
