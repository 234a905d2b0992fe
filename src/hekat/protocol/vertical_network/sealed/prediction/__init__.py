"""Joint prediction by a sealed network: scores open to their receivers, and nothing else."""
