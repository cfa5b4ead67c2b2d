"""Measurements of the figures that must hold: `python -m benchmarks --help`."""
