"""The algorithms of local training that a job can name, one file and one object each."""
