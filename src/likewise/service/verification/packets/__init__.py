"""Decision packets: the file of one decision, for the person that it is about."""
