"""One engine made of several: its members hold parts of each batch and compute with the parts they hold."""
