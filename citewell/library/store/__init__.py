"""The store: what the user gave, in SQLite."""
