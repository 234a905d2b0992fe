"""Arrays of encrypted numbers that behave like NumPy's: what `hekat.array` returns."""

from hekat.encrypted_array.array_class import EncryptedArray
from hekat.encrypted_array.indexing import concatenate, stack
from hekat.encrypted_array.make import array
from hekat.encrypted_array.segments import segment_sum

__all__ = ["EncryptedArray", "array", "concatenate", "segment_sum", "stack"]
