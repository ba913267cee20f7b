"""Training of models, from data sets and libraries. Only this package imports torch and gensim."""
