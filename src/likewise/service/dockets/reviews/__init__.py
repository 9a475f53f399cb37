"""Reviews: what a member is asked to look at, for the first time or again, and under which id."""
