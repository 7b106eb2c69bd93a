"""Let ``python -m headcount`` do what ``headcount`` does."""

from headcount.cli.app import run

run()
