"""What roles compute private products with: lattices, or plain integers for a comparison."""
