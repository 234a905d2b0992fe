"""What all jobs of a guest and hosts with other columns of the same rows share: parts of the file, and site checks."""
