# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde flows against connection tracking and the traffic generator: the short form of tests/soak/flow_truth.py."""
import os
import sys

import helpers

sys.path.insert(0, os.path.join(helpers.ROOT, "tests", "soak"))
import flow_truth  # noqa: E402  the path above is needed first

CONNECTIONS = 100


def test_flows_are_what_happened(routed, sonde):
    result = flow_truth.check(routed, sonde, CONNECTIONS)
    assert not result.wrong, "\n".join(result.wrong[:10])
    compared = result.did["packets and bytes of conntrack"] + result.did["sent twice, packets not compared"]
    assert compared == 4 * (CONNECTIONS - result.did["ports used again"]), result.did
    assert result.did["process"] == 2 * CONNECTIONS


def test_a_filter_that_the_kernel_cannot_run_is_refused(sonde):
    """Packets that it cannot decide about must not be counted."""
    ran = sonde.run("flows", "--agent=no", "len > 20 and ip protochain 6")
    assert ran.returncode == 2 and "cannot run" in ran.stderr, ran
