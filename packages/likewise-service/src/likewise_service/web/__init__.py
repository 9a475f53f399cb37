"""Pages: the console of the panel, the dashboard, signing in."""
