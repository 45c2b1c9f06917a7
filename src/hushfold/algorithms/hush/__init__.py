"""Hush: ask the data once for an item-item moment, and learn everything else from it in public."""
