"""Re-rankers: one a file, each a later stage of a pipeline that looks at the best candidates more closely."""
