# SPDX-License-Identifier: GPL-2.0-or-later
"""The truth gate's comparison of drops: one that no program could see is an exception, any other one an error."""
import os
import sys
from collections import Counter

from helpers import ROOT

sys.path.insert(0, os.path.join(ROOT, "tests", "truth"))
import drops  # noqa: E402  found by the line above
import score  # noqa: E402

TRACED = Counter({0: 500, 75: 2, 900: 498})
INIT = {1, 75}


def verdict(got, dropped=1000, traced=TRACED):
    ret = score.Score()
    drops.judge(ret, Counter(got), dropped, traced, INIT)
    return sum(ret.right.values()), ret.wrong, sum(ret.excused.values())


def test_all_are_shown():
    assert verdict(TRACED) == (1, 0, 0)


def test_hidden_in_init():
    assert verdict({0: 500, 900: 498}) == (1, 0, 2)


def test_missing_elsewhere():
    assert verdict({0: 500, 75: 2, 900: 497}) == (0, 1, 0)
    assert verdict({0: 500, 900: 497}) == (0, 1, 2)


def test_some_of_init():
    """A thread whose other drops are shown hides none."""
    assert verdict({0: 500, 75: 1, 900: 498}) == (0, 1, 0)


def test_wrong_thread():
    assert verdict({0: 501, 75: 2, 900: 497}) == (0, 1, 0)


def test_too_many_hidden():
    traced = Counter({0: 996, 75: 4})
    assert verdict({0: 996}, traced=traced) == (1, 1, 4)


def test_without_a_trace_of_these_drops():
    for traced in (None, TRACED + Counter({7: 1})):
        assert verdict(TRACED, traced=traced) == (1, 0, 0)
        assert verdict({0: 500, 900: 498}, traced=traced) == (0, 1, 0)


def test_threads_of_events():
    events = [{"type": "net.drop", "reason": drops.REASON, "task_tid": 75},
              {"type": "net.drop", "reason": drops.REASON},
              {"type": "net.drop", "reason": "NO_SOCKET", "task_tid": 75}, {"type": "net.trace", "task_tid": 75}]
    assert drops.shown(events) == {75: 1, 0: 1}


def test_lines_of_the_trace():
    line = " my prog 1-2-31080   [001] ..s1.  2439.198606: kfree_skb: skbaddr=00000000dd358506\n"
    idle = "          <idle>-0       [000] .Ns2.  2439.298592: kfree_skb: skbaddr=00000000e670c0b8\n"
    assert drops.HIT.findall("# tracer: nop\n" + line + idle) == ["31080", "0"]
