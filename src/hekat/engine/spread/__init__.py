"""One engine made of several: each member holds parts of each batch and computes with them."""
