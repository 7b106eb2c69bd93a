"""The published comparisons, runnable: one module an experiment, one command each.

An experiment is a list of independent tasks with stable keys (`runner`), whose outcomes are kept
in a journal as they finish (`journal`) and written whole at the end as JSON, CSV and a picture
(`results`). Random numbers follow from the seed and the task, never from the order of the tasks,
so that any number of workers, interrupted or not, gives the same results.
"""
