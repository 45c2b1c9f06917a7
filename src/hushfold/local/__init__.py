"""What one user computes alone, from own rows and public state."""
