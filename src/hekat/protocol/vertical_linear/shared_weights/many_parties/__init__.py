"""Three parties or more: all bring products of their columns once, and two of them hold the shares from then on."""
