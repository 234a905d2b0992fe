"""`hekat init`: new job and site files."""
