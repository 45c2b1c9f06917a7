"""From files and frames to bounded rows: readers, the handle users hold, simulation."""
