"""Classes over a finite domain of cells."""
