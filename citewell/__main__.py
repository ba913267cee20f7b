"""``python -m citewell``."""

from citewell.cli.main import main

main()
