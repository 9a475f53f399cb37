"""Rules: which objections make a report."""
