"""Who opens a lattice sum: a committee of parties, a key authority, or everybody with one key; no network in here."""
