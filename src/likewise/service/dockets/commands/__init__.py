"""Commands: all that can be done to a docket, one transaction each."""
