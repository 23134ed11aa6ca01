"""The program that builds a stack and holds it open. Standard library only, and as little of it as can be: it is started
for every evaluation and every step of an agent, and would be longer at its imports than at its work.

It reads a plan (marshalled) from stdin, moves into namespaces of its own, builds the file system that the plan
describes, makes it the root, prints `ready`, and sleeps until stdin closes. Commands enter its namespaces from
outside. Whatever goes wrong is one line on stderr.
"""

from __future__ import annotations

import ctypes
import fcntl
import marshal
import os
import stat
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Step = dict[str, Any]

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWNET = (
    0x00020000,
    0x04000000,
    0x08000000,
    0x10000000,
    0x40000000,
)
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
MNT_DETACH = 2
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID = 1, 2
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
SYS_MOUNT_SETATTR = 442
MOST_LINKS = 40
COPY_BYTES = 1 << 20
AF_INET, SOCK_DGRAM, SIOCSIFFLAGS, IFF_UP_AND_RUNNING = 2, 2, 0x8914, 0x1 | 0x40
HOSTNAME = b"localhost"
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")

libc = ctypes.CDLL(None, use_errno=True)


class BuildError(Exception):
    """A step that the kernel refused."""


def call(what: str, result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise BuildError(f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str = "none", flags: int = 0, options: str = "") -> None:
    arguments = (os.fsencode(source), os.fsencode(target), kind.encode(), flags, os.fsencode(options))
    call(f"mount {kind} {source} on {target}", libc.mount(*arguments))


def make_read_only(target: str) -> None:
    """For a whole tree of mounts; a plain remount reaches only its top, and must repeat flags that it cannot know."""
    attributes = struct.pack("<QQQQ", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID, 0, 0, 0)
    arguments = (AT_FDCWD, os.fsencode(target), AT_RECURSIVE, attributes, len(attributes))
    call(f"make {target} read-only", libc.syscall(SYS_MOUNT_SETATTR, *arguments))


def enter_namespaces(private_network: bool) -> None:
    """Become the owner of new namespaces, with the same user inside as outside."""
    uid, gid = os.geteuid(), os.getegid()
    flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | (CLONE_NEWNET if private_network else 0)
    finish_mapping = map_everybody() if uid == 0 else None
    call("unshare", libc.unshare(flags))
    if finish_mapping is not None:
        finish_mapping()
        return
    write("/proc/self/setgroups", "deny")
    write("/proc/self/uid_map", f"{uid} {uid} 1")
    write("/proc/self/gid_map", f"{gid} {gid} 1")


def map_everybody() -> Callable[[], None]:
    """Root may map all users, and must do it from outside: a child that stays there waits for our word."""
    parent = os.getpid()
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(tell)
        os.read(told, 1)
        try:
            for kind in ("uid_map", "gid_map"):
                write(f"/proc/{parent}/{kind}", "0 0 4294967295")
        finally:
            os._exit(0)

    def finish() -> None:
        os.close(tell)
        os.waitpid(child, 0)

    return finish


def write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def raise_loopback() -> None:
    any_socket = libc.socket(AF_INET, SOCK_DGRAM, 0)
    call("make a socket", min(any_socket, 0))
    fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", IFF_UP_AND_RUNNING, b""))
    os.close(any_socket)


def place(root: str, target: str, is_folder: bool = True) -> str:
    """Make sure that something can be mounted at a target below the new root."""
    path = inside(root, target)
    open_way(root, path)
    if os.path.lexists(path):
        return path
    if is_folder:
        os.makedirs(path, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w"):
            pass
    return path


def inside(root: str, target: str) -> str:
    """A path below the new root whose links are followed there, as they will be once it is the root.

    HOME and the temporary folder may hold links of an earlier command's: followed from here, they lead out.
    """
    path, parts, links = root, target.split("/"), 0
    while parts:
        part = parts.pop(0)
        step = f"{path}/{part}"
        if part == "..":
            path = path if path == root else os.path.dirname(path)
        elif part and part != "." and os.path.islink(step):
            links += 1
            if links > MOST_LINKS:
                raise BuildError(f"{target} leads through too many links")
            aim = os.readlink(step)
            path = root if aim.startswith("/") else path
            parts = aim.split("/") + parts
        elif part and part != ".":
            path = step
    return path


def open_way(root: str, path: str) -> None:
    """Folders on the way may be an earlier command's, which closed them; those of the system cannot be changed."""
    way = os.path.dirname(path)
    while len(way) > len(root):
        if os.path.isdir(way) and os.stat(way).st_mode & stat.S_IRWXU != stat.S_IRWXU:
            try:  # noqa: SIM105 - contextlib is one of the imports that cost
                os.chmod(way, stat.S_IMODE(os.stat(way).st_mode) | stat.S_IRWXU)
            except OSError:
                pass
        way = os.path.dirname(way)


def build_bind(root: str, step: Step) -> None:
    source = step["source"]
    if os.path.islink(source) and step.get("keep_link"):
        os.symlink(os.readlink(source), root + step["target"])
        return
    path = place(root, step["target"], os.path.isdir(source))
    mount(source, path, flags=MS_BIND | MS_REC)
    if not step.get("writable"):
        make_read_only(path)


def build_overlay(root: str, step: Step) -> None:
    path = place(root, step["target"])
    lower = ":".join(escape(folder) for folder in step["lower"])
    options = f"userxattr,lowerdir={lower},upperdir={escape(step['upper'])},workdir={escape(step['work'])}"
    mount("overlay", path, "overlay", MS_NOSUID | MS_NODEV, options)


def escape(folder: str) -> str:
    """Colons and commas separate in overlay's options."""
    return folder.replace("\\", "\\\\").replace(":", "\\:").replace(",", "\\,")


def build_devices(root: str, _step: Step) -> None:
    """A /dev with what programs expect and nothing of the machine's hardware."""
    path = place(root, "/dev")
    mount("tmpfs", path, "tmpfs", MS_NOSUID, "mode=0755,size=16m")
    for name in DEVICES:
        with open(f"{path}/{name}", "w"):
            pass
        mount(f"/dev/{name}", f"{path}/{name}", flags=MS_BIND)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"{path}/{name}")
    os.symlink("/proc/self/fd", f"{path}/fd")
    for folder in ("shm", "pts"):
        os.mkdir(f"{path}/{folder}")
    mount("tmpfs", f"{path}/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")
    mount("devpts", f"{path}/pts", "devpts", MS_NOSUID, "newinstance,ptmxmode=0666,mode=620")
    os.symlink("pts/ptmx", f"{path}/ptmx")


def build_tmpfs(root: str, step: Step) -> None:
    mount("tmpfs", place(root, step["target"]), "tmpfs", MS_NOSUID | MS_NODEV, step.get("options", "mode=0755"))


BUILDERS = {"bind": build_bind, "overlay": build_overlay, "devices": build_devices, "tmpfs": build_tmpfs}


def apply_change(target: str, export: str) -> None:
    """Lay a change over the mounted layers: deletions first, then files."""
    with open(f"{export}/deleted", "rb") as file:
        for path in filter(None, file.read().split(b"\0")):
            remove(os.path.join(target, os.fsdecode(path)))
    for folder, folders, files in os.walk(f"{export}/files"):
        inside = os.path.join(target, os.path.relpath(folder, f"{export}/files"))
        for name in folders:
            make_folder(os.path.join(inside, name), os.path.join(folder, name))
        for name in files:
            put(os.path.join(folder, name), os.path.join(inside, name))
    bring_git_along(os.path.join(target, ".git"), export)


def bring_git_along(git: str, export: str) -> None:
    """Move HEAD's branch to the change, with the objects and the index that belong to it."""
    if not os.path.exists(f"{export}/head"):
        return
    for name in os.listdir(f"{export}/pack"):
        put(f"{export}/pack/{name}", f"{git}/objects/pack/{name}")
    put(f"{export}/index", f"{git}/index")
    put(f"{export}/head", f"{git}/refs/heads/trueup")


def make_folder(path: str, model: str) -> None:
    if os.path.islink(model):
        put(model, path)
    elif os.path.islink(path) or not os.path.isdir(path):
        remove(path)
        os.mkdir(path)


def put(source: str, path: str) -> None:
    remove(path)
    if os.path.islink(source):
        os.symlink(os.readlink(source), path)
    else:
        with open(source, "rb") as original, open(path, "wb") as copy:
            while piece := original.read(COPY_BYTES):
                copy.write(piece)
        os.chmod(path, stat.S_IMODE(os.stat(source).st_mode))


def remove(path: str) -> None:
    if os.path.islink(path) or os.path.isfile(path):
        os.unlink(path)
    elif os.path.isdir(path):
        remove_folder(path)


def remove_folder(path: str) -> None:
    # Not by shutil: where this runs, the standard library may be out of sight already.
    for folder, folders, files in os.walk(path, topdown=False):
        for name in files:
            os.unlink(os.path.join(folder, name))
        for name in folders:
            inner = os.path.join(folder, name)
            os.unlink(inner) if os.path.islink(inner) else os.rmdir(inner)
    os.rmdir(path)


def make_root(root: str) -> None:
    os.chdir(root)
    call("pivot_root", libc.syscall(SYS_PIVOT_ROOT[os.uname().machine], b".", b"."))
    call("leave the old root", libc.umount2(b".", MNT_DETACH))
    os.chdir("/")


def build(plan: Step) -> None:
    enter_namespaces(plan["private_network"])
    mount("none", "/", flags=MS_REC | MS_PRIVATE)
    root = plan["root"]
    mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=64m")
    for step in plan["steps"]:
        BUILDERS[step["kind"]](root, step)
    changes = [f"/.change-{number}" for number in range(len(plan["changes"]))]
    for source, target in zip(plan["changes"], changes, strict=True):
        build_bind(root, {"source": source, "target": target})
    if plan["private_network"]:
        raise_loopback()
    call("name the machine", libc.sethostname(HOSTNAME, len(HOSTNAME)))
    make_root(root)
    # Only now: a link in the repository can no longer lead a write to the machine outside.
    for change in changes:
        apply_change(plan["repo"], change)
        call("unmount the change", libc.umount2(change.encode(), MNT_DETACH))
        os.rmdir(change)


def main() -> None:
    try:
        build(marshal.load(sys.stdin.buffer))  # noqa: S302 - written by whoever started us
    except (BuildError, OSError, KeyError, ValueError, EOFError, TypeError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()
