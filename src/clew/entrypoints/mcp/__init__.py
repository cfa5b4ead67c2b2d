"""Memory as a server of the Model Context Protocol, for any agent that speaks it.

Written against the protocol itself: its reference library takes over a second to import, and an agent starts its
servers anew with every conversation. `clew mcp` answers `initialize` before anything of memory is loaded.
"""
