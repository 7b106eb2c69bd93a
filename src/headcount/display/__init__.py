"""What answers look like: pictures, notebooks and the report.

Public: the packages `plots` and `report`, as far as their `__all__` goes. All else is internal.
"""
