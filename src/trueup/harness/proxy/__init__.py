"""Between an agent and the world: a proxy on loopback that holds the real keys, and sees what goes by.

The agent has a key that was made for its run. Calls of the vendors' APIs flow through untouched, are metered and told
as events; hosts that the person allows are reached by CONNECT; nothing else is. Answers can be recorded on a cassette
and played again.

How the proxy's socket comes into a sandbox, and what happens when a budget is used up, is the session's business.
"""

from ._cassette import Cassette, CassetteMissError
from ._events import ModelTurned
from ._hosts import Allowed
from ._proxy import Proxy
from ._reachable import reachable
from ._turn import Price
from ._upstream import Upstream

__all__ = ["Allowed", "Cassette", "CassetteMissError", "ModelTurned", "Price", "Proxy", "Upstream", "reachable"]
