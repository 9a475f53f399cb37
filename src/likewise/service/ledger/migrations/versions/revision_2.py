"""From now on alembic's table says which revision a store has.

A Likewise of before the migrations looks into ``meta`` instead, and refuses to open the store.
"""

from __future__ import annotations

from alembic import op

revision = "2"
down_revision = "1"


def upgrade() -> None:
    """Say in ``meta`` that the first version is over."""
    op.get_bind().exec_driver_sql(
        "UPDATE meta SET value = 'likewise-store/2 or later' WHERE key = 'schema'"
    )
