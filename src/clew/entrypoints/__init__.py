"""Faces: each parses, calls one service, renders."""
