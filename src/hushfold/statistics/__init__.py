"""The six shapes of a sum over users: there are no others. Each clips, quantises and bounds in one place."""
