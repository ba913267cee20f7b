"""Tools that stages share: top-k selection, query terms, sentence rankings."""
