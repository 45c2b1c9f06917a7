"""Public maths: nothing in here ever sees private data."""
