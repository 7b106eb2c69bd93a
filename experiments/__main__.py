"""Let ``python -m experiments NAME`` run an experiment."""

from experiments.app import app
from headcount.cli.app import run

run(app)
