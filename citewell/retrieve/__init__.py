"""Candidate generators: each finds papers for a query in its own way."""
