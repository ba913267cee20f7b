"""The interface between stages and storage: what a stage may ask of the papers, and the library that answers."""
