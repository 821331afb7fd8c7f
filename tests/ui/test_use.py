# SPDX-License-Identifier: GPL-2.0-or-later
"""What a person does with the page: filter, range, clock, links whose figures are those of the list behind them."""
import re

import pytest

import mock
from pages import PAGES, address

ROWS = "document.querySelectorAll('main tbody tr:not(.foot)').length > 1"
COUNT = "/^[\\d,]+ events?/.test(document.querySelector('.count')?.textContent || '')"


def count_of(page):
    """Events of the list, once it is there."""
    page.wait(COUNT)
    return int(re.match(r"[\d,]+", page.eval("document.querySelector('.count').textContent"))[0].replace(",", ""))


def focused(page):
    return page.eval("document.activeElement.id")


# ---- figures ----

FIGURES = {"drops": "DROPS", "syscalls": "CALLS", "calls": "CALLS", "errors": "ERR", "waits": "WAITS"}


@pytest.mark.parametrize("view, head", list(FIGURES.items()))
def test_each_figure_is_the_length_of_its_list(open_page, view, head):
    one = open_page()
    one.open(f"/views?view={view}", ROWS)
    index = one.page.eval("[...document.querySelectorAll('main thead th')].findIndex((h) => "
                          f"/^{head}( |$)/.test(h.textContent))")
    rows = one.page.eval(
        "[...document.querySelectorAll('main tbody tr:not(.foot)')].map((r) => ["
        f"r.querySelector('a[data-step]').href, Number(r.children[{index}].title.replaceAll(',', ''))])")
    assert len(rows) > 1 and sum(n for _link, n in rows) > 0
    for link, figure in rows[:5]:
        one.page.eval(f"[...document.querySelectorAll('main a')].find((a) => a.href == {link!r}).click()")
        one.page.wait("location.pathname == '/events'")
        assert count_of(one.page) == figure, link
        one.page.eval("history.back()")
        one.page.wait(f"location.pathname == '/views' && {ROWS}")


@pytest.mark.parametrize("name", ["calls", "syscalls"])
def test_a_cell_opens_the_events_that_it_counts(open_page, name):
    one = open_page()
    one.open(*PAGES[name])
    one.page.eval("document.querySelector('main canvas').focus()")
    for _ in range(4):
        one.page.key(".")
    said = one.page.eval("document.querySelector('main .readout').textContent")
    one.page.key("Enter")
    one.page.wait("location.pathname == '/events'")
    assert count_of(one.page) == int(re.search(r": (\d+)", said.split("  ")[1])[1])


def test_the_heat_map_has_all_events(open_page):
    one = open_page()
    one.open(*PAGES["calls"])
    one.page.click("details.alike summary")
    total = one.page.eval("[...document.querySelectorAll('details.alike td.num:nth-of-type(1)')]"
                          ".reduce((n, e) => n + Number(e.textContent), 0)")
    assert total == 800


def test_rows_with_longer_lists_say_so(open_page):
    one = open_page()
    marks = "document.querySelectorAll('main tbody abbr').length"
    one.open("/views?view=ports", ROWS)
    assert one.page.eval(marks) == one.page.eval("document.querySelectorAll('main tbody tr:not(.foot)').length") > 1
    assert one.page.eval("document.querySelector('main .inexact').textContent").startswith("~: the list")
    one.open("/views?view=syscalls", ROWS)
    assert one.page.eval(marks) == 0 and not one.page.eval("document.querySelector('main .inexact')")


# ---- filter ----

def test_filter_by_keyboard(open_page):
    one = open_page()
    one.open("/drops", ROWS)
    one.page.key("/")
    assert focused(one.page) == "filter"
    one.page.type("drop.re")
    one.page.wait("document.querySelector('#filter-list li')")
    one.page.key("ArrowDown")
    one.page.key("Enter")
    assert one.page.eval("document.querySelector('#filter').value") == "drop.reason"
    one.page.type("=TCP_CSUM")
    one.page.key("Enter")
    one.page.wait("new URLSearchParams(location.search).get('q') == 'drop.reason=TCP_CSUM'")
    one.page.wait("[...document.querySelectorAll('main tbody tr td:first-child')]"
                  ".every((c) => /^TCP_CSUM( ~)?$/.test(c.textContent))")


def test_a_wrong_filter_shows_where(open_page):
    one = open_page()
    one.open("/drops", ROWS)
    one.page.key("/")
    one.page.type("proc.name='n\u00e4me' and drop.raeson=x")
    one.page.wait("document.querySelector('#filter-fault pre')")
    lines = one.page.eval("document.querySelector('#filter-fault pre').textContent").split("\n")
    assert lines[0].index("drop.raeson") == lines[1].index("^")
    one.page.key("Enter")
    assert "q" not in one.url()[1]


def test_rows_narrow_the_filter_with_and(open_page):
    one = open_page()
    one.open("/drops?q=proc.pid%3D812%20or%20proc.pid%3D900", ROWS)
    q = one.page.eval("new URL(document.querySelector('main tbody a[data-step]').href).searchParams.get('q')")
    assert q.startswith("(proc.pid=812 or proc.pid=900) and drop.reason=")


# ---- range and clock ----

def test_a_drag_is_the_range_of_every_page(open_page):
    one = open_page()
    one.open(*PAGES["overview"])
    one.page.drag("main canvas", (0.25, 0.3), (0.5, 0.3))
    one.page.wait("/from=\\d{19}&to=\\d{19}/.test(location.search)")
    _path, words = one.url()
    span = int(words["to"]) - int(words["from"])
    assert 0.2 < span / 60e9 < 0.3
    links = one.page.eval("[...document.querySelectorAll('nav[aria-label=pages] a')].map((a) => a.search)")
    assert all(f"from={words['from']}&to={words['to']}" in link for link in links)
    one.page.eval("document.activeElement.blur()")
    one.page.key("Escape")
    one.page.wait("!location.search.includes('from=')")


def test_zoom_and_pan_by_keyboard(open_page):
    one = open_page()
    one.open(*PAGES["drops"])
    spans = []
    for key in ("w", "w", "d", "s"):
        before = one.page.eval("location.search")
        one.page.key(key)
        one.page.wait(f"location.search != {before!r}")
        words = one.url()[1]
        spans.append((int(words["from"]), int(words["to"]) - int(words["from"])))
    assert [round(span / 1e9) for _from, span in spans] == [30, 15, 15, 30]
    assert spans[2][0] > spans[1][0]


def test_times_keep_their_nanoseconds(open_page):
    one = open_page()
    begin = one.server.host.begin
    one.open(f"/events?from={begin + 1234567891}&to={begin + 20_000_000_003}", COUNT)
    expected = [e for e in one.server.host.events if begin + 1234567891 <= e["time"] < begin + 20_000_000_003]
    assert count_of(one.page) == len(expected)
    first = one.page.eval("document.querySelector('.event a').textContent")
    assert first.endswith(f"{expected[0]['time'] % 10**9:09d}"[:6])


def test_the_range_dialog(open_page):
    one = open_page()
    one.open("/drops", ROWS)
    one.page.key("t")
    one.page.wait("document.querySelector('.picker')")
    one.page.eval("document.querySelectorAll('.picker input')[0].select()")
    one.page.click(".picker input")
    one.page.eval("document.querySelectorAll('.picker input')[0].select()")
    one.page.type("07:43:50.5")
    one.page.key("Enter")
    one.page.wait("location.search.includes('from=') || document.querySelector('.picker .failure')")
    assert one.url()[1]["from"] == "1795506230500000000"


def test_space_stops_the_clock(open_page):
    one = open_page("live")
    one.open("/drops", "document.querySelector('#clock')?.getAttribute('aria-pressed') == 'true'")
    one.page.wait(ROWS)
    one.page.eval("document.activeElement.blur()")
    one.page.key(" ")
    one.page.wait("/from=\\d{19}&to=\\d{19}/.test(location.search)")
    one.page.wait("document.querySelector('#clock').textContent.startsWith('behind')")
    one.page.key(" ")
    one.page.wait("location.search.includes('to=now')")


def test_live_figures_move(open_page):
    one = open_page("live")
    one.open("/events", "document.querySelectorAll('.event').length > 3")
    last = "document.querySelector('.window').lastElementChild.getAttribute('aria-rowindex')"
    before = one.page.eval(last)
    one.page.wait(f"Number({last}) > {before}")


def test_a_hidden_tab_has_no_stream(open_page):
    one = open_page("live")
    one.open("/drops", ROWS)
    assert one.server.wait_streams(1)
    one.page.eval("Object.defineProperty(document, 'hidden', {value: true, configurable: true}); "
                  "document.dispatchEvent(new Event('visibilitychange'))")
    assert one.server.wait_streams(0)
    one.page.eval("Object.defineProperty(document, 'hidden', {value: false, configurable: true}); "
                  "document.dispatchEvent(new Event('visibilitychange'))")
    assert one.server.wait_streams(1)


def test_subscriptions_stay_below_the_limit(open_page):
    one = open_page("live")
    for name in ("overview", "calls", "off cpu", "syscalls", "flows"):
        one.server.asked.clear()
        one.open(*PAGES[name])
        assert not [p for p in one.problems() if "400" in p]


# ---- events ----

def test_the_end_of_a_list_is_its_last_event(open_page):
    one = open_page()
    one.open(*PAGES["events"])
    total = count_of(one.page)
    assert total == len([e for e in one.server.host.events if e["time"] <= one.server.host.end()])
    one.page.eval("document.querySelector('.events').focus()")
    last = "Number(document.querySelector('.window').lastElementChild.getAttribute('aria-rowindex'))"
    at = 0
    while at < total:
        one.page.eval("document.querySelector('.events').scrollTop = 1e9")
        one.page.wait(f"{last} > {at}")
        at = one.page.eval(last)
    assert at == total
    assert one.page.eval("document.querySelectorAll('.event').length") < 100


def test_an_event_shows_fields_bytes_and_links(open_page):
    one = open_page()
    one.open("/drops", "document.querySelector('.event a')")
    one.page.click(".event a")
    one.page.wait("document.querySelector('aside .links a') && document.querySelector('aside pre')")
    assert one.page.eval("document.querySelector('aside pre').textContent").startswith("0000  00 01 02 03")
    one.page.click("aside .links a")
    one.page.wait("location.pathname == '/processes'")


# ---- calls and CPU ----

def test_a_call_adds_up(open_page):
    one = open_page()
    one.open("/calls", "document.querySelector('.event a')")
    one.page.eval("document.querySelector('.event a').click()")
    one.page.wait("document.querySelector('aside canvas')")
    rows = one.page.eval("[...document.querySelectorAll('aside table:not(.sides)')][0].tBodies[0].lastElementChild"
                         ".innerText")
    assert "13.5ms" in rows and "100%" in rows


SIDES = "document.querySelector('aside table.sides')"


def test_both_sides_of_a_call_with_the_network_between(open_page):
    one = open_page("fleet")
    one.open("/calls?q=rpc.side%3Dclient", "document.querySelector('.event a')")
    one.page.eval("document.querySelector('.event a').click()")
    one.page.wait(SIDES)
    head, client, server, network = one.page.eval(
        f"[...{SIDES}.rows].map((r) => [...r.cells].map((c) => c.innerText))")
    assert head == ["side", "host", "process", "latency"]
    assert client[0] == "client" and server[0] == "server" and server[1] == "web2"
    assert network[:2] == ["network", "the client's latency minus the server's"] and network[2].endswith("s")
    one.page.eval(f"{SIDES}.querySelector('a').click()")    # the other side
    one.page.wait("new URLSearchParams(location.search).get('call') == '0123456789ab'")
    one.ignore = ("404",)       # the mock has made it up


def test_a_side_that_is_missing_says_why(open_page):
    one = open_page()
    one.open("/calls?q=rpc.side%3Dclient", "document.querySelector('.event a')")
    one.page.eval("document.querySelector('.event a').click()")
    one.page.wait(SIDES)
    assert one.page.eval(f"[...{SIDES}.rows].at(-1).innerText").split("\t") == [
        "network", "the server's side was not seen", "unknown"]


HOSTS = "[...new Set([...document.querySelectorAll('main tbody tr:not(.foot)')].map((r) => r.cells[1].innerText))]"


def test_one_of_several_hosts(open_page):
    """The host is a clause of the filter: every page is of it, until all are chosen again."""
    one = open_page("fleet")
    one.open("/processes?q=proc.pid%3E0", ROWS)
    assert sorted(one.page.eval(HOSTS)) == ["web1", "web2"]

    def choose(name):
        one.page.eval(f"(() => {{ const s = document.querySelector('header select'); s.value = '{name}'; "
                      "s.dispatchEvent(new Event('change', { bubbles: true })); })()")
    choose("web2")
    one.page.wait(f"{ROWS} && {HOSTS}.join() == 'web2'")
    assert one.url()[1]["q"] == "host=web2 and proc.pid>0"
    assert one.page.eval("document.querySelector('header select').value") == "web2"
    one.follow("/events?" + "q=host%3Dweb2", "document.querySelector('.event .host')")
    assert one.page.eval("[...new Set([...document.querySelectorAll('.event .host')].map((e) => e.innerText))]") == [
        "web2"]
    choose("")
    one.page.wait("!new URLSearchParams(location.search).get('q')")


def test_a_frame_zooms_and_escape_shows_all(open_page):
    one = open_page()
    one.open(*PAGES["cpu"])
    one.page.eval("document.querySelector('main canvas').focus()")
    one.page.key("ArrowUp")
    one.page.key("ArrowUp")
    frame = one.page.eval("document.querySelector('main .readout').textContent").split(":")[0]
    one.page.key("Enter")
    one.page.wait("new URLSearchParams(location.search).get('sel')")
    assert one.url()[1]["sel"] == frame
    one.page.key("Escape")
    one.page.wait("!new URLSearchParams(location.search).get('sel')")


def test_a_function_opens_its_samples(open_page):
    one = open_page()
    one.open(*PAGES["cpu"])
    total = one.page.eval("[...document.querySelectorAll('main tbody tr')]"
                          ".find((r) => r.innerText.startsWith('serve')).children[2].title")
    one.page.eval("[...document.querySelectorAll('main tbody a')].find((a) => a.textContent == 'serve').click()")
    one.page.wait("document.querySelector('aside[aria-label=\"selected frame\"] .links')")
    one.page.eval("[...document.querySelectorAll('aside .links a')].find((a) => a.textContent == 'samples in it')"
                  ".click()")
    one.page.wait("location.pathname == '/events'")
    assert "stack.function=serve" in one.url()[1]["q"]
    assert f"{count_of(one.page):,} samples" == total


def test_losses_are_hatched_among_threads(open_page):
    one = open_page()
    begin, second = one.server.host.begin, 10**9
    hatched = f"""(() => {{ const c = document.querySelector('main section canvas');
        const probe = document.createElement('i');
        probe.style.color = 'var(--hatch)'; document.body.append(probe);
        const want = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
        probe.remove();
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, at = new Set();
        for (let i = 0; i < d.length; i += 4)
          if (Math.abs(d[i] - want[0]) + Math.abs(d[i + 1] - want[1]) + Math.abs(d[i + 2] - want[2]) < 60)
            at.add(i / 4 % c.width / c.width);
        return [...at]; }})()"""
    readout = "document.querySelector('main section .readout').textContent"
    one.open(f"/processes?sel=1001&from={begin}&to={begin + 60 * second}", "document.querySelector('table.tracks')")
    places = one.page.eval(hatched)
    assert places and min(places) > 0.5 and max(places) < 0.6    # 30 s of 60, right of the names
    assert "12 records of the host lost" in one.page.eval(readout)
    one.open(f"/processes?sel=1001&from={begin}&to={begin + 20 * second}", "document.querySelector('table.tracks')")
    assert one.page.eval(hatched) == [] and "lost" not in one.page.eval(readout)


def test_search_and_callers(open_page):
    one = open_page()
    one.open(*PAGES["cpu"])
    one.page.eval("document.querySelector('input[type=search]').focus()")
    one.page.type("gc")
    one.page.wait("[...document.querySelectorAll('main tbody td:first-child')]"
                  ".every((c) => /gc/.test(c.textContent))")
    one.page.click("main tbody td.links summary")
    one.page.click("main tbody td.links a")
    one.page.wait("document.querySelectorAll('main canvas').length == 2")


def test_against_another_range(open_page):
    one = open_page()
    begin = one.server.host.begin
    one.open(f"/cpu?from={begin + 30 * 10**9}&to={begin + 60 * 10**9}", PAGES["cpu"][1])
    one.page.eval("[...document.querySelectorAll('button')].find((b) => b.textContent == 'the range before')"
                  ".click()")
    one.page.wait("new URLSearchParams(location.search).get('against')")
    assert one.url()[1]["against"] == f"{begin}..{begin + 30 * 10**9}"
    one.page.wait("document.querySelector('.legend .s-more')")


def test_causes_of_slow_calls_add_up(open_page):
    """Named causes, others and the unknown part are all of the difference. An operation leads to its calls."""
    one = open_page()
    one.open(*PAGES["recordings"])
    assert one.page.eval("[...document.querySelector('.operation table').tBodies[0].rows].map((r) => "
                         "[r.cells[0].firstChild.data, r.cells[1].innerText, r.cells[2].innerText.trim()])") == [
        ["run queue", "70ms", "80.5%"], ["other causes, none certain", "12ms", "13.8%"], ["unknown", "5ms", "5.7%"],
        ["all", "87ms", "100%"]]
    place = "[...document.querySelectorAll('.operation')].find((o) => o.ariaLabel.startsWith('GET /'))"
    calls = int(re.match(r"\d+", one.page.eval(f"{place}.querySelector('p').innerText"))[0])
    one.page.eval(f"{place}.querySelector('h3 a').click()")
    one.page.wait("location.pathname == '/calls'")
    assert count_of(one.page) == calls > 0


def test_losses_are_told_with_their_causes(open_page):
    """Live: also those that came after the page was loaded. The ledger of each probe goes on as well."""
    one = open_page("live")
    one.open("/recordings", "/^ring_full \\d+$/.test(document.querySelector('.lost').title)")
    host = one.server.host
    ledger = host.ledger
    try:
        host.ledger = [dict(ledger[0], seen=444, delivered=432)]
        one.page.wait("document.querySelector('main tbody').innerText.includes('444')")
    finally:
        host.ledger = ledger


# ---- questions of a person, from the overview in at most three steps ----

QUESTIONS = {
    "what is dropped, and why": (["nav a[href^='/drops']"], "document.querySelector('main tbody').innerText"
                                 ".includes('NETFILTER_DROP')"),
    "who talks to whom": (["nav a[href^='/flows']", ".tabs li:nth-child(2) a"],
                          "document.querySelector('path.edge')"),
    "one slow call": (["nav a[href^='/calls']", ".event a"], "document.querySelector('aside canvas')"),
    "why calls are slow": (["nav a[href^='/calls']", "main > div > div > details.alike summary"],
                           "document.querySelector('.operation')"),
    "where the CPU goes": (["nav a[href^='/cpu']"], "document.querySelector('main canvas')"),
    "what is waited for": (["nav a[href^='/views']"], "document.querySelector('main select')"),
    "what a process does": (["nav a[href^='/processes']", "a[href*='sel=1001']"],
                            "document.querySelector('table.tracks')"),
    "which system call hurts": (["nav a[href^='/syscalls']"], "document.querySelector('main canvas') && "
                                "document.querySelector('main .scroll tbody').innerText.includes('epoll_wait')"),
    "everything": (["nav a[href^='/events']"], "document.querySelectorAll('.event').length > 10"),
}


@pytest.mark.parametrize("question", list(QUESTIONS))
def test_questions(open_page, question):
    one = open_page()
    one.open(*PAGES["overview"])
    clicks, answered = QUESTIONS[question]
    assert len(clicks) <= 3
    for selector in clicks:
        one.page.wait(f"document.querySelector({selector!r})")
        one.page.eval(f"document.querySelector({selector!r}).click()")      # pictures still move what is below
    one.page.wait(answered)


# ---- an input that lacks a part ----

@pytest.fixture
def poor_host(servers):
    """The recording without events of the network, as its /meta says it."""
    host = servers["recorded"].host
    host.kept.clear()
    host.note, host.absent = "a capture: <b>no</b> arguments", ("net",)
    yield host
    host.kept.clear()
    host.note, host.absent = "", ()


def test_what_an_input_lacks_is_said(open_page, poor_host):
    one = open_page()
    empty = "document.querySelector('main section .empty')?.textContent"
    one.open("/views?view=drops&q=proc.pid%3D77", f"{empty} == 'minute.rec has no net.drop'")
    assert poor_host.note in one.page.eval("document.querySelector('.status').innerText")
    one.open("/views?view=syscalls&q=proc.pid%3D77", f"{empty} == 'nothing in this range'")


# ---- a server without time ----

TOO_LONG = "the request needs more than 2 s of CPU time: narrow the range"
FAILED = f"document.querySelector('main .failure')?.textContent.startsWith('{TOO_LONG}')"


@pytest.fixture
def busy(servers):
    """busy(kind) makes the views of a server too much for it, busy(kind, False) ends that."""
    def make(kind, on=True):
        servers[kind].busy = {"view": TOO_LONG} if on else {}
    yield make
    for server in servers.values():
        server.busy = {}


def test_a_page_that_was_refused_asks_again(open_page, busy):
    one = open_page()
    one.ignore = ("503",)
    busy("recorded")
    one.open("/views?view=ports", FAILED)
    again = "document.querySelectorAll('main .failure button').forEach((b) => b.click())"
    one.page.eval(again)
    one.page.wait(FAILED)
    busy("recorded", False)
    one.page.eval(again)
    one.page.wait(f"{ROWS} && !document.querySelector('main .failure')")


def test_a_live_page_keeps_its_rows_while_it_is_refused(open_page, busy):
    one = open_page("live")
    one.open("/views?view=ports", ROWS)
    busy("live")
    one.page.wait(f"{FAILED} && {ROWS}")
    assert not one.page.eval("document.querySelector('main .failure button')")      # the stream asks again
    busy("live", False)
    one.page.wait(f"{ROWS} && !document.querySelector('main .failure')")


# ---- token and hostile text ----

def test_the_token_leaves_the_address_bar(open_page):
    one = open_page()
    one.open("/drops", ROWS)
    assert one.page.eval("location.hash") == ""
    assert one.page.eval("document.cookie") == ""
    one.page.open(one.server.address + "/drops")
    one.page.wait(ROWS)


def test_without_a_token_the_page_says_what_to_do(open_page):
    one = open_page()
    one.ignore = ("401",)
    one.page.open(one.server.address + "/drops")
    one.page.wait("document.querySelector('.token input')")
    one.page.eval("document.querySelector('.token input').focus()")
    one.page.type(f"{one.server.address}/#t={mock.TOKEN}")
    one.page.key("Enter")
    one.page.wait(ROWS)


# What a person sees or hears: texts, of canvases too, names for screen readers, tooltips.
SHOWN = """(() => {
    const all = [...document.querySelectorAll('body *')];
    const said = all.flatMap((e) => [e.title || '', e.ariaLabel || '', e.placeholder || '']);
    const own = all.flatMap((e) => [...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data));
    const drawn = all.flatMap((e) => (e.texts || []).map((b) => b.text));
    return [...own, ...said, ...drawn, document.title].filter((t) => t).join('\\n');
})()"""


@pytest.mark.parametrize("name", list(PAGES))
def test_names_are_text(open_page, name):
    """Of a host whose every name is hostile: elements of it are none, and control characters are shown as such."""
    one = open_page("hostile")
    one.open(*address(name, one.server))
    assert one.page.eval("document.querySelectorAll('main img, main script, aside img, header img').length") == 0
    shown = one.page.eval(SHOWN)
    assert "<img src=x onerror=alert(1)>" in shown and "\\u{202e}" in shown
    assert not [line for line in shown.split("\n") if "\u202e" in line or "\x1b" in line]


def test_trusted_types_are_closed(open_page):
    one = open_page()
    one.ignore = ("TrustedHTML", "Trusted Type")
    one.open("/drops", ROWS)
    assert one.page.eval("(() => { try { document.body.innerHTML = '<p>'; return 'open'; } catch (e) "
                         "{ return e.name; } })()") == "TypeError"
