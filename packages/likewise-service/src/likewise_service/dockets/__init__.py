"""A docket at work: its rounds, its panel, and the one module that calls the fold."""
