"""Classes whose hypotheses stand in a list."""
