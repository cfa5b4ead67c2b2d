"""`python -m clew`."""

from clew.entrypoints.cli.main import main

main()
