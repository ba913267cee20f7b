"""The bench: sets, strict splits in time, measures, comparisons, tuning, plots, and the studies beside them."""
