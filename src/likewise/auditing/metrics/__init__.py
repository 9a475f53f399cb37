"""How far apart two people are, in the eyes of an auditor."""
