"""Classes whose hypotheses are listed, one by one."""
