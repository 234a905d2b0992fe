"""Sums of encrypted rows by bins: ring LWE in windows, for histograms of gradients that one party may open."""

from hekat.scheme.bin_sums.answers import Answers, answer_shapes
from hekat.scheme.bin_sums.conceal import conceal
from hekat.scheme.bin_sums.keys import KeyPair, PrivateKey, PublicKey, generate_keys
from hekat.scheme.bin_sums.layout import SumLayout
from hekat.scheme.bin_sums.opening import open_answers
from hekat.scheme.bin_sums.parameters import BINS, RESIDUE_BYTES, SETS, BinSumParameters
from hekat.scheme.bin_sums.rows import EncryptedRows, encrypt_rows
from hekat.scheme.bin_sums.sums import BinSummer, BinSums
from hekat.scheme.bin_sums.working_memory import working_bytes

__all__ = [
    "BINS",
    "RESIDUE_BYTES",
    "SETS",
    "Answers",
    "BinSumParameters",
    "BinSummer",
    "BinSums",
    "EncryptedRows",
    "KeyPair",
    "PrivateKey",
    "PublicKey",
    "SumLayout",
    "answer_shapes",
    "conceal",
    "encrypt_rows",
    "generate_keys",
    "open_answers",
    "working_bytes",
]
