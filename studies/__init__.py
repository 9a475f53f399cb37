"""Studies of this project, which are not published with it."""
