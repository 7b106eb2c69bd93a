"""The command line, a file for each larger command; internal."""
