"""While the repository has no address, leave out of the pages what would lead nowhere.

``_config.yml`` comes with an address that belongs to nobody; ``make address URL=...`` replaces
it. Until then no page has a button for Colab, Binder, the repository or an issue, a link to
source code, or an address at which it claims to be published. Text that holds only with an
address stands in ``{only} published``.

Colab does not understand MyST. So its button leads to the branch on which the workflow of the
pages keeps them as plain notebooks: see ``tools/plain_notebooks.py``.
"""

import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

OWNER = "example"
PLAIN = "colab"  # the branch of the plain notebooks
BUTTONS = ("repository", "issues", "source", "edit_page")
OWN = re.compile(r'\s*<meta property="og:url"[^>]*>')  # where a page says it is published


def is_placeholder(url: str) -> bool:
    """Whether the address of a repository is nobody's."""
    return url.rstrip("/").split("/")[-2:-1] == [OWNER]


def hide_what_leads_nowhere(app: Sphinx, config: Config) -> None:
    """Take buttons and published addresses out of the settings, or keep all of them."""
    theme = config.html_theme_options
    if not is_placeholder(theme["repository_url"]):
        app.tags.add("published")
        return
    theme |= {f"use_{button}_button": False for button in BUTTONS}
    theme["launch_buttons"] = {}
    config.html_baseurl = config.ogp_site_url = ""


def drop_own_address(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any
) -> None:
    """Have no page say where it is published if nobody has published it."""
    if not app.config.html_baseurl:
        context["metatags"] = OWN.sub("", context.get("metatags", ""))


def lead_to_plain_notebooks(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any
) -> None:
    """Have the button for Colab open the page without MyST."""
    branch = app.config.html_theme_options.get("repository_branch", "main")
    for group in context.get("header_buttons", []):
        for button in group.get("buttons", []):
            if button.get("text") == "Colab":
                button["url"] = button["url"].replace(f"/blob/{branch}/", f"/blob/{PLAIN}/")


def setup(app: Sphinx) -> dict[str, bool]:
    """Decide when the settings are read, before other extensions use them."""
    app.connect("config-inited", hide_what_leads_nowhere, priority=400)
    app.connect("html-page-context", drop_own_address, priority=900)
    app.connect("html-page-context", lead_to_plain_notebooks, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
