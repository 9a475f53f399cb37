"""Exponential weights, compiled: lists of any length, and segments from coarse to fine."""
