"""What one upload and one sum consist of, block by block: masked values, and values that a mask leaves in the clear."""
