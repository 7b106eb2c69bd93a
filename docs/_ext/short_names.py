"""Links from short names: docstrings say `Pilot` where the page is that of headcount.Pilot."""

from __future__ import annotations

from typing import Any

from sphinx.util.nodes import make_refnode

SUFFIX = 1  # Sphinx's search mode for names known by their ending


def _find(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Return a link to the one thing whose name ends so; None leaves the name as it is."""
    if node.get("refdomain") != "py":
        return None
    domain = env.get_domain("py")
    module, owner = node.get("py:module"), node.get("py:class")
    found = domain.find_obj(env, module, owner, node["reftarget"], None, SUFFIX)
    if len(found) != 1:
        return None
    name, entry = found[0]
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, content, name)


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("missing-reference", _find)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
