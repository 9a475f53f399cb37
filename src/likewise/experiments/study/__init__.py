"""Studies: many games, counted and put into tables and figures."""
