"""One file a revision; a revision that was released never changes again."""
