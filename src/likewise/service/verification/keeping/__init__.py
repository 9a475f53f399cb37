"""How a ledger was kept: its keys, who acted, members' signatures, anchors."""
