"""Differential privacy in a ledger: what a role records of noise, charges and waived budgets, and what an audit makes
of it."""
