"""The benchmark: how long things take here, beside plain references measured in the same run."""
