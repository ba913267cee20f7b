"""Text: terms, sentences, key terms, citation marks, accents and the names of authors."""
