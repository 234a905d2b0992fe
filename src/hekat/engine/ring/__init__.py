"""Ring arithmetic: its contract, its specification and native engine, and how masked elements hold values."""
