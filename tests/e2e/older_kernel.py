# SPDX-License-Identifier: GPL-2.0-or-later
"""This kernel as an older one: in a mount namespace its types (BTF) lack some names."""
import os
import sys

from helpers import ROOT

sys.path.insert(0, os.path.join(ROOT, "tests", "workloads"))
import own_mounts  # noqa: E402  the path above is needed first

TYPES = "/sys/kernel/btf/vmlinux"
LACKS = {"6.1": ["btf_trace_sock_send_length", "btf_trace_sock_recv_length"]}
LACKS["5.10"] = [*LACKS["6.1"], "BPF_FUNC_check_mtu", "BPF_FUNC_get_attach_cookie", "BPF_FUNC_sock_from_file",
                 "bpf_uprobe_multi_link"]


def without(folder, *names):
    """What stands before a command that is to run there; @folder: for the changed types."""
    with open(TYPES, "rb") as f:
        types = f.read()
    for name in names:
        there = b"\0%s\0" % name.encode()
        assert there in types, name
        types = types.replace(there, there[:-2] + b"?\0")
    copy = os.path.join(folder, "types")
    with open(copy, "wb") as f:
        f.write(types)
    return [*own_mounts.words(), "sh", "-c", f'mount --bind {copy} {TYPES} && exec "$0" "$@"']
