"""The command line: `hekat init`, `job`, `run`, `relay`, `predict`, `doctor`, `report`, `audit`, `keys`."""
