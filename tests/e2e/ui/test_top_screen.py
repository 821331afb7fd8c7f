# SPDX-License-Identifier: GPL-2.0-or-later
"""The screen of sonde top as a person sees it: layout by width, keys, filters, the mouse."""
import os
import re
import subprocess
import termios

import pytest

from helpers import BINARY, ROOT
from screens import Screen

pytestmark = pytest.mark.replay

DATA = os.path.join(ROOT, "tests", "data", "rec")
CHAIN, CPU, FLOWS = (os.path.join(DATA, name + ".rec") for name in ("chain", "cpu", "flows"))
DOWN, RIGHT, BACK, F1, F2 = b"\x1b[B", b"\x1b[C", b"\x7f", b"\x1bOP", b"\x1bOQ"
FOOT_80 = "Enter open  Bksp back  v views  / filter  s sort  p pause  e events  ? help  q"


@pytest.fixture
def top():
    """top("-r", FILE, size=(rows, columns)): its screen; left by q, and then as it was."""
    shown = []

    def start(*words, **options):
        shown.append(Screen("top", *words, **options))
        return shown[-1]
    yield start
    for one in shown:
        status, err = one.end(b"q")
        assert status == 0, err
        assert one.modes_after == one.modes


def block(width):
    done = subprocess.run([BINARY, "top", "-r", CHAIN, "--width", str(width)], capture_output=True, text=True,
                          timeout=60, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("width", [40, 80, 120, 160])
def test_the_table_is_the_block_of_that_width(top, width):
    one = top("-r", CHAIN, size=(12, width))
    one.wait("client")
    lines = one.lines()
    assert lines[3:7] == block(width)[1:5]
    assert all(len(line) <= width for line in lines) and lines[0].startswith("sonde top  host")
    assert lines[1].startswith("cpu -") and "drops -" in lines[1]
    assert lines[2].startswith("host > processes")
    assert (lines[11] == FOOT_80) == (width >= 80)


def test_the_first_lines():
    one = Screen("top", "-r", CHAIN)
    one.wait("client")
    lines = one.lines()
    assert lines[0] == "sonde top  host  2 cpu  totals  lost 0" + " " * 34 + "07:43:38"
    assert lines[1] == "cpu -  wait 1.0%  rx -  tx -  calls 19/s  errors 0/s  drops -"
    assert lines[2] == "host > processes" + " " * 38 + "filter: (none)   recording"
    assert one.end(b"q")[0] == 0


TARGETS = ["connections", "calls by method", "files", "functions", "waits of threads", "system calls",
           "drops by reason"]


@pytest.mark.parametrize("number, title", enumerate(TARGETS, 1))
def test_numbers_open_views_of_a_process(top, number, title):
    one = top("-r", CHAIN)
    one.wait("1 connections 2 calls 3 files 4 functions 5 waits 6 syscalls 7 drops")
    one.press(str(number).encode(), f"host > processes > 19002 back > {title}")
    one.press(BACK, "host > processes  ")


def test_a_view_without_events_says_so(top):
    one = top("-r", CHAIN)
    one.wait("client")
    one.press(b"1", "^connections: the recording has no events of net.flow$")


def test_from_the_host_to_one_event_and_back(top):
    one = top("host", "-r", CHAIN)
    one.wait("RPCERR")
    one.press(b"\r", "^host > processes")
    one.press(DOWN + b"\r", "> 19007 front > calls by method")     # the first view that has events
    one.press(b"\r", "events, oldest first")
    one.press(b"\r", "^FIELD +VALUE")
    one.press(b"w", "^sonde top calls -r .*")
    one.press(BACK, "^FIELD +VALUE")
    one.press(BACK, "events, oldest first")
    one.press(BACK, "host > processes > 19007 front > calls by method")
    one.press(BACK, "host > processes  ")


def test_the_selected_row_stays_when_the_order_changes(top):
    one = top("-r", CHAIN)
    one.wait("client")
    one.press(DOWN, "19012")
    one.press(b"r", "19012")
    one.press(b"6", "19007 front > system calls")


def test_sorting_marks_the_column(top):
    one = top("syscalls", "-r", CHAIN)
    one.wait(r"\*CALLS")
    one.press(b"s", r"\*ERR")
    one.press(b">", r"\*TIME")
    one.press(b"<<", r"\*CALLS")
    one.press(b"r", r"\A(.*\n){4} +2 .*sched_yield")


def test_hidden_columns_of_a_live_layout(top):
    """Of a recording the arrows step through its intervals."""
    one = top("-r", CPU, "--speed", "1", size=(12, 100))
    one.wait("playing")
    one.press(b"p", "paused")
    clock = one.wait(r"\d\d:\d\d:\d\d$").group(0)
    one.press(RIGHT * 2, r"\d\d:\d\d:\d\d$")
    one.press(b"\x1b[D" * 2, clock)


def test_a_wrong_filter_leaves_the_old_one(top):
    one = top("syscalls", "-r", CHAIN)
    one.wait("nanosleep")
    one.press(b"/syscall.name=futex\r", r"filter: syscall.name=futex")
    one.press(b"/syscal.name=x\r", r"syscal.name.*did you mean")
    assert "filter: syscall.name=futex" in one.text() and "nanosleep" not in one.text()


def test_a_bare_word_filters_names(top):
    one = top("-r", CHAIN)
    one.wait("client")
    one.press(b"/fron\r", r"filter: proc.name contains fron")
    assert "19007" in one.text() and "19002" not in one.text()
    one.press(b"/\r", r"filter: \(none\)")
    one.press(b"/bac\r" + b"/\r", "19012")


def test_next_row_with_the_words(top):
    one = top("syscalls", "-r", CHAIN)
    one.wait("nanosleep")
    one.press(b"/sched\x1b", "nanosleep")
    one.press(b"n" + b"e", "> sched_yield > events")


@pytest.mark.parametrize("keys, page", [(b"?", "^KEYS"), (F1, "^KEYS"), (b"v", "^VIEW +CONTENT"), (F2, "^VIEW"),
                                        (b"w", "^COMMAND")])
def test_pages(top, keys, page):
    one = top("-r", CHAIN)
    one.wait("client")
    one.press(keys, page)
    one.press(BACK, "client")


def test_the_list_of_views_leads_to_each(top):
    one = top("-r", CHAIN)
    one.wait("client")
    one.press(b"v", "^functions")
    one.press(b"\x1b[4~", "^functions")
    one.press(b"\r", "^host > functions")


def test_totals_and_rates(top):
    one = top("-r", CPU, "--speed", "1", size=(12, 80))
    one.wait(r"playing")
    one.press(b"pt", "totals")
    one.press(b"t", "every 1 s")
    one.press(b"++++", "every 10 s")
    one.press(b"-" * 8, "every 0.1 s")


def test_the_mouse_is_off_by_default(top):
    one = top("-r", CHAIN)
    one.read_until(rb"client")
    assert b"\x1b[?1000h" not in one.seen
    assert not one.screen.mode & {1000 << 5, 1006 << 5}


def test_the_mouse(top):
    one = top("-r", CHAIN, "--mouse")
    one.wait("client")
    assert 1000 << 5 in one.screen.mode
    heading = one.lines()[3]
    at = heading.index("ERR") + 2
    one.press(b"\x1b[<0;%d;4M\x1b[<0;%d;4m" % (at, at), r"\*ERR")
    one.press(b"\x1b[<65;5;6M", "client")      # the wheel: three rows down
    one.press(b"\x1b[<0;5;5M" + b"6", "> system calls")


def test_too_small(top):
    one = top("-r", CHAIN, size=(7, 60))
    assert one.wait(r"\S.*").group(0) == "sonde top needs 40 columns and 8 lines"


@pytest.mark.parametrize("env, words", [({"NO_COLOR": "1"}, ()), ({}, ("--color", "never")), ({"TERM": "vt100"}, ())])
def test_no_colours(top, env, words):
    one = top("-r", FLOWS, *words, **env)
    one.wait("python3")
    assert {cell.fg for line in one.screen.buffer.values() for cell in line.values()} == {"default"}


def test_lines_are_ascii_and_names_utf_8(top):
    one = top("-r", CHAIN)
    one.wait("client")
    assert one.text().isascii()


def test_a_resize_draws_the_new_size(top):
    one = top("-r", CHAIN)
    one.wait("client")
    for rows, columns in ((50, 160), (10, 40), (24, 80)):
        one.screen.resize(rows, columns)
        termios.tcsetwinsize(one.kept, (rows, columns))
        one.press(b"j", r"(?s)^sonde top.*PROCESS|COMMAND")
        one.draw(b"k")
        lines = one.lines()
        assert lines[3:7] == block(columns)[1:5] and lines[rows - 1].startswith("Enter open")
        assert re.match("open: 1 ", lines[rows - 2])


def test_only_a_redraw_clears_the_screen(top):
    one = top("-r", CHAIN)
    one.wait("client")
    one.draw(b"j")
    clears = one.clears
    for keys in (b"jjkk", b"srs", b"6", BACK, b"?", BACK, b"e", BACK):
        one.draw(keys)
    assert one.clears == clears
    one.draw(b"\x0c")
    assert one.clears == clears + 1
