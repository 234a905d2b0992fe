"""`hekat run`: one file for each protocol, with what they share."""
