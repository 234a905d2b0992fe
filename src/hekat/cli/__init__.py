"""The command line: `hekat init`, `job`, `run`, `predict`, `doctor`, `report`, `audit`, `keys`."""
