"""The agent's tools, one file per family."""
