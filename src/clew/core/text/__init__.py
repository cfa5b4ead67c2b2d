"""Pure functions over text that several parts of the core share."""
