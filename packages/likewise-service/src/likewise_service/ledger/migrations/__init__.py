"""How an older database becomes one of this version, a file a step."""
