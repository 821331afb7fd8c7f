# SPDX-License-Identifier: GPL-2.0-or-later
"""Opens descriptors of all kinds and by all ways, calls fcntl(fd, F_GETFL) on each, and prints what /proc says of it:
one line "descriptor TAB name of the way TAB link" per call, in the order of the calls.
"""
import array
import ctypes
import fcntl
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile

libc = ctypes.CDLL(None, use_errno=True)
folder = tempfile.mkdtemp()
kept = []


def say(way, fd):
    """One call on the descriptor, with the truth."""
    if hasattr(fd, "fileno"):
        kept.append(fd)
        fd = fd.fileno()
    if fd < 0:
        return
    link = os.readlink(f"/proc/self/fd/{fd}")
    fcntl.fcntl(fd, fcntl.F_GETFL)
    print(fd, way, link, sep="\t")


def call(nr, *args):
    return libc.syscall(ctypes.c_long(nr), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])


def path(name):
    return os.path.join(folder, name)


def files():
    fd = os.open(path("plain"), os.O_CREAT | os.O_RDWR)
    say("open", fd)
    say("dup", os.dup(fd))
    say("dup2", os.dup2(fd, 200))
    os.rename(path("plain"), path("renamed"))
    say("renamed", fd)
    os.unlink(path("renamed"))
    say("deleted", fd)
    say("O_TMPFILE", os.open(folder, os.O_TMPFILE | os.O_RDWR))
    say("directory", os.open(folder, os.O_RDONLY | os.O_DIRECTORY))
    os.mkdir(path("sub"))
    sub = os.open(path("sub"), os.O_PATH)
    say("O_PATH", sub)
    say("openat", os.open("below", os.O_CREAT | os.O_RDWR, dir_fd=sub))
    os.symlink("nowhere", path("link"))
    say("symlink", os.open(path("link"), os.O_PATH | os.O_NOFOLLOW))
    os.mkfifo(path("fifo"))
    say("fifo", os.open(path("fifo"), os.O_RDWR))
    say("name with blanks", os.open(path("a b\\c"), os.O_CREAT | os.O_RDWR))
    say("deep", os.open(deep(), os.O_CREAT | os.O_RDWR))
    for name in ("/dev/null", "/dev/zero", "/proc/self/status", "/proc/version", "/sys/kernel/uevent_seqnum", "/",
                 "/etc/passwd", "/bin/sh", "/proc/self/exe"):
        say(name, os.open(name, os.O_RDONLY))
    say("std", sys.stdin.fileno())


def deep():
    at = folder
    for i in range(20):
        at = os.path.join(at, f"d{i}")
        os.mkdir(at)
    return os.path.join(at, "end")


def sockets():
    a, b = socket.socketpair()
    say("socketpair", a)
    say("socketpair", b)
    bound = socket.socket(socket.AF_UNIX)
    bound.bind(path("sock"))
    bound.listen()
    say("unix listener", bound)
    client = socket.socket(socket.AF_UNIX)
    client.connect(path("sock"))
    say("unix client", client)
    say("unix accepted", bound.accept()[0])
    listener = socket.create_server(("127.0.0.1", 0))
    say("tcp listener", listener)
    client = socket.create_connection(listener.getsockname())
    say("tcp client", client)
    say("tcp accepted", listener.accept()[0])
    six = socket.create_server(("::1", 0), family=socket.AF_INET6)
    say("tcp6 listener", six)
    say("tcp6 client", socket.create_connection(six.getsockname()[:2]))
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    say("udp", udp)
    udp.connect(("127.0.0.1", 9))
    say("udp connected", udp)
    say("netlink", socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
    say("packet", socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
    say("raw", socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
    r, _ = os.pipe()
    a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [r]))])
    _, control, _, _ = b.recvmsg(1, 64)
    say("SCM_RIGHTS", struct.unpack("i", control[0][2][:4])[0])


def kernel_objects():
    for fd in os.pipe():
        say("pipe", fd)
    say("epoll", select.epoll())
    say("eventfd", libc.eventfd(0, 0))
    mask = ctypes.create_string_buffer(128)
    say("signalfd", libc.signalfd(-1, mask, 0))
    say("timerfd", libc.timerfd_create(1, 0))
    say("inotify", libc.inotify_init())
    say("fanotify", libc.fanotify_init(0, 0))
    say("memfd", os.memfd_create("of memory"))
    say("userfaultfd", call(323, 0))
    say("io_uring", call(425, 4, ctypes.create_string_buffer(256)))
    say("memfd_secret", call(447, 0))
    say("landlock", call(444, ctypes.byref(ctypes.c_ulong(1)), 8, 0))
    pidfd = os.pidfd_open(os.getpid())
    say("pidfd", pidfd)
    say("pidfd_getfd", call(438, pidfd, 200, 0))
    attr = ctypes.create_string_buffer(struct.pack("IIQ", 1, 112, 0), 112)
    say("perf_event", call(298, attr, 0, -1, -1, 0))
    attr = ctypes.create_string_buffer(struct.pack("IIII", 2, 4, 4, 1), 64)
    say("bpf map", call(321, 0, attr, 64))
    for name in ("net", "mnt", "pid", "uts"):
        say(f"namespace {name}", os.open(f"/proc/self/ns/{name}", os.O_RDONLY))


def after_exec():
    """A descriptor without O_CLOEXEC survives, one with it does not: its number is another file's."""
    keep = os.open("/etc/hostname", os.O_RDONLY)
    os.set_inheritable(keep, True)
    gone = os.open("/etc/passwd", os.O_RDONLY)
    sys.stdout.flush()
    code = f"import os, fcntl; fcntl.fcntl({keep}, 3); print({keep}, 'inherited', '/etc/hostname', sep='\\t'); " \
           f"fd = os.open('/etc/group', 0); os.dup2(fd, {gone}); fcntl.fcntl({gone}, 3); " \
           f"print({gone}, 'O_CLOEXEC', '/etc/group', sep='\\t')"
    subprocess.run([sys.executable, "-c", code], close_fds=False, check=True)


signal.alarm(60)
files()
sockets()
kernel_objects()
after_exec()
