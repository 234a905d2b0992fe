"""One role's work in a run on its machine: what it loads, keeps and leaves behind."""
