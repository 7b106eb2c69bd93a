"""How the site is built: pages in Markdown, the rest from docstrings, the registry and the CLI."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import headcount

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

# Stories show their warnings; where on this machine a file lies is nobody's business.
warnings.formatwarning = lambda message, category, *_: f"{category.__name__}: {message}\n"

project = "headcount"
author = "The headcount authors"
copyright = author
version = release = headcount.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "generated_pages",
    "concept_pictures",
    "mathml",
    "short_names",
]
exclude_patterns = ["_ext"]
smartquotes = False  # they would turn the dashes of options into one
default_role = "py:obj"  # docstrings name things in single backticks

myst_heading_anchors = 3  # as on GitHub: checks.md#hc011

autodoc_typehints = "none"  # the Parameters section says it in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "generated/stories",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 10_000,  # how long it took is about the machine, not the story
    "write_computation_times": False,  # those pages would fetch scripts from outside
    "abort_on_example_error": True,
}

# Nothing is fetched when a page is read: fonts are the reader's own, formulas are MathML.
html_theme = "furo"
html_title = "headcount"
html_static_path = ["_static"]
html_css_files = ["headcount.css"]
pygments_dark_style = "monokai"
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
