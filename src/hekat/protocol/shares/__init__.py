"""Numbers that lie in additive shares at two parties: arithmetic mod 2^128 on shares, and truncation."""
