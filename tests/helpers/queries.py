"""Queries with several graded documents, of which some find theirs easily and others do not."""

import numpy as np


def make_run(seed, n_queries, n_documents, n_relevant=5):
    """Return a run and its judgements: queries differ in how easy they are, documents about that.

    So what stands behind many relevant documents also stands behind many others.
    """
    rng = np.random.default_rng(seed)
    ease = 2.2 + 0.8 * rng.normal(size=n_queries)
    run, qrels = {}, {}
    for query in range(n_queries):
        relevant = ease[query] + 0.7 * rng.normal(size=n_relevant)
        others = rng.normal(size=n_documents - n_relevant)
        run[f"q{query}"] = {f"r{i}": score for i, score in enumerate(relevant)} | {
            f"d{i}": score for i, score in enumerate(others)
        }
        qrels[f"q{query}"] = {f"r{i}": 1 + i % 2 for i in range(n_relevant)}
    return run, qrels


def only_some(run, n_documents, n_relevant=5):
    """Return the run in a collection of the first documents."""
    kept = {f"r{i}" for i in range(n_relevant)}
    kept |= {f"d{i}" for i in range(n_documents - n_relevant)}
    return {
        query: {name: score for name, score in documents.items() if name in kept}
        for query, documents in run.items()
    }


def two_systems(n_queries, n_documents):
    """Return the runs of two systems whose scores differ a little, and their judgements."""
    run, qrels = make_run(0, n_queries, n_documents)
    rng = np.random.default_rng(1)
    other = {
        query: {d: s + 0.3 * rng.normal() + 0.1 * (d[0] == "r") for d, s in documents.items()}
        for query, documents in run.items()
    }
    return run, other, qrels
