"""hushfold: factorise user-item data under differential privacy, and serve the result."""

__version__ = "0.1.0.dev0"
