# SPDX-License-Identifier: GPL-2.0-or-later
"""The packet filter in the running kernel: every verdict against libpcap's interpreter (tests/pktfilter)."""
import os
import re
import subprocess

import pytest

from helpers import BINARY

pytestmark = pytest.mark.replay

BATTERY = os.path.join(os.path.dirname(BINARY), "tests", "pktfilter", "pktfilter-battery")
PARTS = 4
SUM = re.compile(r"^(\d+) expressions, (\d+) packets, (\d+) comparisons \((\d+) matches, (\d+) left to user "
                 r"space\), (\d+) missing, (\d+) mismatches$", re.M)
HOOK = re.compile(r"^(veth egress|veth ingress|drop|tun ingress|tun drop) +(\d+) packets, (\d+) in fragments, "
                  r"(\d+) with", re.M)
SKIP = 77


@pytest.fixture(scope="module")
def outputs():
    """What each part printed; the parts run beside each other."""
    if not os.path.exists(BATTERY):
        pytest.skip(f"{BATTERY} was not built")
    parts = [subprocess.Popen([BATTERY, str(i), str(PARTS)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True) for i in range(PARTS)]
    texts = [part.communicate(timeout=240)[0] for part in parts]
    if any(part.returncode == SKIP for part in parts):
        pytest.skip(texts[0].strip())
    for part, text in zip(parts, texts):
        assert part.returncode == 0, text
    return texts


def test_verdicts_are_those_of_libpcap(outputs):
    sums = [[int(n) for n in SUM.search(text).groups()] for text in outputs]
    exprs, comparisons, matches, user, missing, mismatches = (sum(s[i] for s in sums) for i in (0, 2, 3, 4, 5, 6))
    print(f"{exprs} expressions, {sums[0][1]} packets, {comparisons} comparisons, {matches} matches, {user} left to "
          f"user space, {mismatches} mismatches")
    assert exprs >= 60 and sums[0][1] >= 1000
    assert mismatches == 0 and missing == 0
    assert matches > comparisons // 20
    # Loops (three expressions) and bytes behind the copied depth, nothing else.
    assert 0 < user < comparisons // 20


def test_every_kind_of_packet_was_there(outputs):
    hooks = {}
    for text in outputs:
        for name, packets, fragments, tagged in HOOK.findall(text):
            so_far = hooks.setdefault(name, [0, 0, 0])
            for i, n in enumerate((packets, fragments, tagged)):
                so_far[i] += int(n)
    for name in ("veth egress", "veth ingress", "drop"):
        assert hooks[name][1] > hooks[name][0] // 3, f"{name}: too few packets in page fragments"
    for name in ("veth ingress", "drop"):
        assert hooks[name][2] > hooks[name][0] // 10, f"{name}: too few packets with a tag beside them"
    assert hooks["tun ingress"][0] > 0 and hooks["tun drop"][0] > 0


def test_others_start_without_the_library_for_filters():
    linked = subprocess.run(["readelf", "-dW", BINARY], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"\(NEEDED\).*\[(.+?)\.so", linked)
    assert "libbpf" in names
    assert not {"libpcap", "libmicrohttpd", "libcurl", "libcurl-gnutls"} & set(names)
