"""Opening of masked sums: by a committee of parties, by a key authority, or by every party with one shared key."""
