"""Who starts the roles of a run and carries their bytes."""
