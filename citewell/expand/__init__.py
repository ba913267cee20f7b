"""Stages that find candidates through citations, one a file."""
