"""`hekat site`: what a site allows, and whether a job fits."""
