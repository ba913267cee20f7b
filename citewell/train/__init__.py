"""Training: from a library to models that `citewell.retrieve` serves. Nothing else may import gensim or torch."""
