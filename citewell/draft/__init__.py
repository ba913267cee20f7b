"""Manuscripts: one reader per format, each making a `Draft`."""
