"""Jobs of boosted trees across columns: one file for all roles, run and resumed on this machine, used to predict."""
