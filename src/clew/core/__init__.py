"""Values and decisions. No input or output, no clock, no randomness, no threads."""
