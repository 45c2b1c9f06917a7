"""Protocols and metrics: the operator's tools, exact and therefore NOT PRIVATE."""
