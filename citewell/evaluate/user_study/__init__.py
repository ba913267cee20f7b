"""User studies, after that of HybridCite (Färber and Sampath, JCDL 2020, section 4.4): made from a set, and reported."""
