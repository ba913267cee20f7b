"""The index: immutable segments of postings and citations, derived from the store."""
