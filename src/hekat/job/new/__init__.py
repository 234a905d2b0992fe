"""What `hekat init` writes: a new job and its site file, with example rows where there are none."""
