# SPDX-License-Identifier: GPL-2.0-or-later
"""The list of events of a live host whose clock the test moves: rows come, leave the range, and none is missing."""
import pytest

import world
from conftest import Opened, serve

COUNT = "document.querySelector('.count')?.textContent"
LAST = "document.querySelector('.window')?.lastElementChild"
NEWEST = f"new URL({LAST}.querySelector('a').href).searchParams.get('sel')"
LIMIT = 10000       # rows of one answer


class Clock:
    def __init__(self):
        self.ns = world.BEGIN_NS + world.LENGTH_NS

    def __call__(self):
        return self.ns


@pytest.fixture
def listed(chromium):
    """(page, its server, the clock)"""
    clock = Clock()
    server = serve(True, now=clock)
    one = Opened(chromium, server)
    yield one, server, clock
    one.page.close()
    server.end()
    one.check()


def move(server, clock, seconds):
    with server.lock:
        clock.ns += seconds * world.SECOND
        server.host.grow()


def of_range(server, seconds):
    """Events of the last @seconds, oldest first."""
    end = server.host.end()
    return [e for e in server.host.events if end - seconds * world.SECOND <= e["time"] <= end]


def test_rows_are_those_of_the_range(listed):
    one, server, clock = listed
    one.open("/events?from=-10s&to=now", f"/ events$/.test({COUNT})")
    for seconds in (3, 20, 4):
        move(server, clock, seconds)
        events = of_range(server, 10)
        one.page.wait(f"{LAST} && {NEWEST} == '{events[-1]['seq']}'")
        assert one.page.eval(COUNT) == f"{len(events):,} events"
        assert one.page.eval(f"{LAST}.getAttribute('aria-rowindex')") == str(len(events))


def test_the_newest_rows_are_shown_however_many_come(listed):
    """Ten minutes at once: five times the rows of an answer. Those between are counted, and there for a scroll."""
    one, server, clock = listed
    one.open("/events?from=-1h&to=now", f"/ events/.test({COUNT})")
    for _ in range(2):
        server.asked.clear()
        move(server, clock, 600)
        events = of_range(server, 3600)
        one.page.wait(f"{LAST} && {NEWEST} == '{events[-1]['seq']}'")
        assert sum(path == "/events" and "after" in p for path, p in server.asked) <= 2
        assert one.page.eval(COUNT).startswith(f"{len(events):,} events, {LIMIT:,} here, ")
    one.page.eval("document.activeElement.blur()")
    one.page.key(" ")
    one.page.wait("/from=\\d{19}&to=\\d{19}/.test(location.search)")
    move(server, clock, 3600)       # what was shown stays, and what is before it
    one.page.eval("document.querySelector('.events').scrollTop = 0")
    one.page.wait(f"Number(/, ([\\d,]+) here/.exec({COUNT})?.[1].replaceAll(',', '')) > {LIMIT}")
