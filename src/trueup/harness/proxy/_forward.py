"""Inside of a sandbox: takes connections on a loopback port, and carries them to the proxy's socket.

Run as a program of its own (`python3 -I -S -c SOURCE PORT SOCKET`), so it uses nothing but the standard library, and
little of that. It says `ready PORT` once it accepts, and ends when it is ended.
"""

from __future__ import annotations

import selectors
import socket
import sys
import time

CHUNK = 64 * 1024
# A reader that is so far behind is not read for.
MOST_WAITING = 256 * 1024


class End:
    """One end of a connection: what waits to be written to it, and whether its peer is done."""

    other: End

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.waiting = bytearray()
        self.reads = True
        self.ends = False
        self.ended = False


class Forwarder:
    """Carries any number of connections in one thread."""

    def __init__(self, listener: socket.socket, path: str) -> None:
        self.listener = listener
        self.path = path
        self.selector = selectors.DefaultSelector()
        self.selector.register(listener, selectors.EVENT_READ)

    def run(self) -> None:
        while True:
            for key, events in self.selector.select():
                if key.data is None:
                    self.accept()
                else:
                    self.serve(key.data, events)

    def accept(self) -> None:
        try:
            client, _ = self.listener.accept()
        except OSError:
            # Too many are open: without a pause this would only ask again and again.
            time.sleep(0.05)
            return
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(self.path)
        except OSError as error:
            sys.stderr.write(f"{self.path}: {error}\n")
            client.close()
            server.close()
            return
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        near, far = End(client), End(server)
        near.other, far.other = far, near
        for end in (near, far):
            end.sock.setblocking(False)
            self.selector.register(end.sock, selectors.EVENT_READ, end)

    def serve(self, end: End, events: int) -> None:
        if end.sock.fileno() < 0:
            # Closed while another event of the same round was served.
            return
        try:
            if events & selectors.EVENT_WRITE:
                self.write(end)
            if events & selectors.EVENT_READ:
                self.read(end)
        except BlockingIOError:
            pass
        except OSError:
            self.close(end)
            return
        self.watch(end)
        self.watch(end.other)

    def read(self, end: End) -> None:
        chunk = end.sock.recv(CHUNK)
        other = end.other
        if not chunk:
            end.reads = False
            other.ends = True
        other.waiting += chunk
        self.write(other)

    def write(self, end: End) -> None:
        try:
            while end.waiting:
                del end.waiting[: end.sock.send(end.waiting)]
        except BlockingIOError:
            return
        if end.ends and not end.ended:
            end.ended = True
            end.sock.shutdown(socket.SHUT_WR)

    def watch(self, end: End) -> None:
        """Wait for what can be done next; a connection with nothing left to do is over."""
        if end.sock.fileno() < 0:
            return
        if end.ended and end.other.ended:
            self.close(end)
            return
        events = selectors.EVENT_WRITE if end.waiting else 0
        if end.reads and len(end.other.waiting) < MOST_WAITING:
            events |= selectors.EVENT_READ
        known = self.selector.get_map().get(end.sock.fileno())
        if known is None:
            if events:
                self.selector.register(end.sock, events, end)
        elif not events:
            self.selector.unregister(end.sock)
        elif known.events != events:
            self.selector.modify(end.sock, events, end)

    def close(self, end: End) -> None:
        for each in (end, end.other):
            if each.sock.fileno() >= 0:
                if each.sock.fileno() in self.selector.get_map():
                    self.selector.unregister(each.sock)
                each.sock.close()


def main() -> None:
    port, path = int(sys.argv[1]), sys.argv[2]
    listener = socket.create_server(("127.0.0.1", port), backlog=512)
    sys.stdout.write(f"ready {listener.getsockname()[1]}\n")
    sys.stdout.flush()
    Forwarder(listener, path).run()


if __name__ == "__main__":
    main()
