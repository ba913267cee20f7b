"""The page and the HTTP API of a user study. No response names a system."""
