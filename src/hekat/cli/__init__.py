"""The command line: `hekat run`, `doctor`, `report`, `audit`, `keys`."""
