"""Clew's agent for editors, over the Agent Client Protocol."""
