"""Games by name, side by side, with figures and reports."""
