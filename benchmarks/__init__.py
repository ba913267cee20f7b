"""Side by side with peers, in one run, printing a table. ``make bench`` runs them all."""
