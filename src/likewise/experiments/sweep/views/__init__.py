"""Tables and figures of a sweep, each made from its rows alone."""
