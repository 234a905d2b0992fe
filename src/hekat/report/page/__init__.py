"""What pages are made of: HTML, style, drawings; the same for all protocols."""
