"""What answers look like: pictures, notebooks and the report."""
