"""Let ``python -m headcount`` do what ``headcount`` does."""

from headcount.cli import run

run()
