# SPDX-License-Identifier: GPL-2.0-or-later
"""Who may include whom. A module is src/<name>; its own headers are always allowed."""
import re

from common import Finding, c_files, files, is_kernel_side, text

# module: what it may include beside itself and libc
ALLOWED = {
    "base": set(),
    "loop": {"base"},
    "ring": {"base", "sonde"},
    "packet": {"base", "sonde"},
    "event": {"base", "packet", "sonde"},
    "call": {"base", "event", "packet", "sonde"},
    "pktfilter": {"base", "sonde", "worker", "libpcap", "libbpf"},
    "policy": {"base", "event", "sonde"},
    "worker": {"base", "libseccomp", "libcap-ng"},
    "ipc": {"base", "event", "loop", "sonde"},
    "state": {"base", "container", "event", "sonde"},
    "container": {"base", "worker"},
    "elf": {"base", "sonde", "zlib", "libzstd", "liblzma", "libdw", "libelf", "libiberty"},
    "gobin": {"base", "elf", "libdw", "libelf"},
    "sym": {"base", "event", "elf", "worker", "sonde", "zlib"},
    "stack": {"base", "event", "sym", "sonde"},
    "store": {"base", "sonde", "libzstd"},
    "trace": {"base", "event", "packet", "sonde"},
    "view": {"base", "event", "tables"},
    "metrics": {"base", "event", "tables"},
    "ui": {"base", "event", "http", "libmicrohttpd", "loop", "sinks", "sonde", "stack", "sym", "trace", "view",
           "worker", "zlib"},
    "scap": {"base", "container", "event", "sonde", "state"},
    "cilium": {"base"},
    "clickhouse": {"base", "event", "http_client", "worker"},
    "sinks": {"base", "cilium", "clickhouse", "event", "metrics", "packet", "scap", "stack", "store", "sym", "sonde",
              "tables", "libzstd", "zlib"},
    "http": {"base", "libmicrohttpd", "libnghttp2", "loop"},
    "hubble": {"base", "cilium", "event", "http", "loop", "sinks", "sonde"},
    "http_client": {"base", "loop", "worker", "libcurl", "zlib"},
    "source": {"base", "cilium", "clickhouse", "event", "packet", "scap", "store", "worker", "sonde", "libzstd",
               "zlib"},
    "btf": {"base", "libbpf"},
    "host": {"base", "sonde", "libbpf"},
    "probe": {"base", "btf", "event", "host", "loop", "ring", "sonde", "libbpf"},
    "pipeline": {"base", "btf", "cilium", "clickhouse", "container", "event", "host", "http_client", "ipc",
                 "loop", "probe", "ring", "scap", "sinks", "sonde", "source", "stack", "state", "sym", "worker"},
}
EVERYTHING = {"agent", "cmd", "compat", "lib", "main"}
DECODE = {"base", "call", "cilium", "event", "packet", "scap", "sonde", "own"}
LIVE = DECODE | {"container", "host", "loop", "probe", "ring", "pktfilter", "policy", "elf", "gobin", "worker",
                "libbpf", "libmnl", "skeleton"}
KERNEL = {"bpf", "sonde", "own", "libbpf"}

LIBRARIES = {
    r"bpf/": "libbpf", r"pcap(/|\.h)": "libpcap", r"libmnl/": "libmnl", r"(libelf|gelf)\.h": "libelf",
    r"seccomp\.h": "libseccomp", r"cap-ng\.h": "libcap-ng", r"zstd\.h": "libzstd", r"zlib\.h": "zlib",
    r"json-c/": "json-c",
    r"curl/": "libcurl",
    r"lzma\.h": "liblzma",
    r"(demangle|libiberty/)": "libiberty", r"(elfutils/|dwarf\.h)": "libdw", r"microhttpd\.h": "libmicrohttpd",
    r"nghttp2/": "libnghttp2",
}


def meson_list(folder, variable):
    """File names that a probe's meson.build puts into a list."""
    path = f"{folder}/meson.build"
    if path not in files():
        return set()
    found = re.findall(rf"^{variable} \+?= (?:files\()?\[?(.*?)[\])]", text(path), re.M | re.S)
    return set(re.findall(r"'([^']+)'", " ".join(found)))


def kind_of(path, included, system):
    """What an include line stands for: a module, a library, own, sonde, bpf, skeleton, libc."""
    if system:
        for pattern, library in LIBRARIES.items():
            if re.match(pattern, included):
                return library
        return "libc"
    first = included.split("/")[0]
    if included.endswith(".skel.h"):
        return "skeleton"
    if included.startswith(("bpf/bpf_", "bpf/libbpf", "bpf/btf", "bpf/usdt")):
        return "libbpf"
    if "/" not in included or (path.startswith("probes/") and included.startswith("/".join(path.split("/")[:2]))):
        return "own"
    return first


def allowed_for(path):
    parts = path.split("/")
    if is_kernel_side(path):
        return KERNEL | ({"own"} if path.startswith("bpf/") else set())
    if parts[0] == "src" and len(parts) > 2:
        if parts[1] in EVERYTHING:
            return None
        return ALLOWED.get(parts[1], set()) | {parts[1]}
    if parts[0] == "probes" and len(parts) > 2:
        folder, name = "/".join(parts[:2]), "/".join(parts[2:])
        if name in meson_list(folder, "probe_decode"):
            return DECODE
        return LIVE
    return None


def check():
    for path in c_files("src/", "probes/", "bpf/", "include/"):
        allowed = allowed_for(path)
        for number, line in enumerate(text(path).split("\n"), 1):
            match = re.match(r'\s*#\s*include\s+([<"])([^>"]+)[>"]', line)
            if match and match.group(2).startswith("compat/") and not path.startswith("src/compat/"):
                yield Finding(path, number, "dialects may be included by themselves only")
            if not match or allowed is None:
                continue
            kind = kind_of(path, match.group(2), match.group(1) == "<")
            if kind != "libc" and kind not in allowed:
                yield Finding(path, number, f"may not include {match.group(2)} ({kind})")
