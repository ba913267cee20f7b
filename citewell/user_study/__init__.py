"""User studies: what a study folder contains, in which order a judge sees the systems, and what the judges have marked.

`citewell.evaluate.user_study` makes a study and reports it, `citewell.serve.user_study` shows it to the judges.
"""
