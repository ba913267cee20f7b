"""The command line: one command per file, each a thin door to the library."""
