"""Ways to combine the rankings of several pipelines, one a file."""
