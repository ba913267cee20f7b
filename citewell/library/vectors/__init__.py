"""Vectors of papers and sentences, derived from the store by encoders."""
