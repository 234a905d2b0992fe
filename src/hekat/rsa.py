"""RSA, under the names users call it by: `hekat.rsa.generate_keys()`, `hekat.rsa.blind(...)`.

Blind signatures: `hash_to_group`, `blind`, `sign`, `unblind`, `verify`. `encrypt`, `decrypt` and `multiply` are
TEXTBOOK RSA: deterministic, no protection of anything that can be guessed; for comparison with papers only.
"""

from hekat.scheme.rsa import *  # noqa: F403
from hekat.scheme.rsa import __all__ as __all__
