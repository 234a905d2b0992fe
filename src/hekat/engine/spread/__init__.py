"""One engine made of several: a batch is cut over its members, and what follows is computed where the parts lie."""
