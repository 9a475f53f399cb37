"""The state of a run as a value: open rounds, what tunes the scales, and files that keep it."""
