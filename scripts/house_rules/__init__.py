"""The house rules, checked by reading the source. `make check` runs them, and so does a test.

A rule is a function from what it reads to findings, and has snippets in `tests/contract/test_house_rules.py`
that it must catch. Rules guard against mistakes: a determined author can hide from any of them.
"""
