"""Text: analysis into terms, sentences, key terms, and the marks of citations."""
