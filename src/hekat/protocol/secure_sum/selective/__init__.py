"""What parties agree on before they mask only a part of their updates."""
