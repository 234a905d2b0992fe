"""Jobs of split networks: one file for all roles, run and resumed on this machine, used to predict."""
