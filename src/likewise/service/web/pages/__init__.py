"""Pages: the console, the dashboard, receipts, seats and signing in."""
