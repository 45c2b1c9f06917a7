"""Audits of the installed build: each check can fail, and each comes with a broken control it must catch."""
