"""Arrays of encrypted numbers that behave like NumPy's: what `hekat.array` returns."""

from hekat.encrypted_array.array_class import EncryptedArray
from hekat.encrypted_array.indexing import concatenate, stack
from hekat.encrypted_array.make import array

__all__ = ["EncryptedArray", "array", "concatenate", "stack"]
