"""`python -m clew`."""

from clew.entrypoints.cli.start import main

main()
