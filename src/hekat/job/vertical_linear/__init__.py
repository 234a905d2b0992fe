"""Jobs of vertical regression: one file for all roles, run and resumed on this machine, used for joint prediction."""
