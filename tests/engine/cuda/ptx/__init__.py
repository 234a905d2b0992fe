"""The compiler's PTX executed without a GPU: what it says is checked, not what ptxas and the GPU make of it."""
