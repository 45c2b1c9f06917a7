"""Loaded once by the server of forks, so that its children do not load the same kernels again and again."""

from __future__ import annotations

from tests.integration.storm_fit import people

people()
