"""Engines move data: they run local steps beside the rows and add up integers. They never draw noise."""
