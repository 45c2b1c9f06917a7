"""Metrics, one family a file: exact numbers about private users, for the operator and not for publication."""
