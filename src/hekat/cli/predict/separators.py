"""What `--separator` of a CSV file may be called."""

from typing import Final

SEPARATORS: Final = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
