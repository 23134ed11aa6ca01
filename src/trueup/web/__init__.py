"""Pages: what a person sees of a daemon in a browser, on the daemon's own port.

Pages are rendered here (Jinja2) and work without a script; small ES modules in `static/` keep them up to date and make
them quicker to use. Nothing is loaded from elsewhere, everything that an agent wrote is escaped, and a strict
Content-Security-Policy stands behind that.

The `Door` lets a person in: by a link that works once, which leaves a cookie that no script can read. Whatever changes
something is a form with a token of its own, and calls the same methods as any client of the wire. A page is a module
with `routes(site)`; what it shows is read from the rooms below, and nothing is kept here.
"""

from ._site import Site, pages

__all__ = ["Site", "pages"]
