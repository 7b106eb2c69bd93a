"""Real classes to make training problems of: small files, gathered from public packages.

``python -m experiments sources FOLDER`` writes one file NAME.npz for each source, those that are
held out into FOLDER/held-out:

- ``vectors``: float16 (rows, at most 64), scaled so that their root mean square is one;
- ``labels``: int32, class numbers from 0 without gaps; the rows of one class stand together;
- ``recipe``: a JSON text: packages, what a class and a row is, how many, what was removed.

`catalogue` lists the sources and which of them are held out; `packages` lists all that is
fetched, with its version, and what must be installed first.
"""
