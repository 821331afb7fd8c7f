# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of the real server over recordings, and what pages of other origins get of it in a browser."""
import http.server
import os
import re
import sys
import threading

import pytest

from answers import ROOT
from conftest import BUILD, Opened
from test_use import COUNT, count_of

os.environ.setdefault("SONDE", os.path.join(BUILD, "sonde"))
sys.path.append(os.path.join(ROOT, "tests", "e2e"))
from ui_client import Ui  # noqa: E402  it reads SONDE

DATA = os.path.join(ROOT, "tests", "data", "rec")
PAGES = ["/", "/flows", "/flows?tab=map", "/drops", "/calls", "/calls?explain=1", "/cpu", "/cpu?mode=off",
         "/cpu?shape=icicle&by=operation&mode=both", "/processes", "/syscalls", "/events", "/events?sel=7",
         "/recordings", "/views?view=files"]
ROW = "document.querySelector('main tbody tr:not(.foot)')"
FIGURES = {"chain": ("syscalls", "CALLS"), "cpu": ("waits", "WAITS"), "all": ("drops", "DROPS")}


class Real:
    """sonde ui over a recording, as Opened takes a server."""

    def __init__(self, name):
        self.ui = Ui("-r", os.path.join(DATA, name + ".rec")).read_whole()
        self.address, self.token = f"http://127.0.0.1:{self.ui.port}", self.ui.token


@pytest.fixture
def serve():
    """serve(name): the server of a recording."""
    started = []

    def start(name):
        started.append(Real(name))
        return started[-1]
    yield start
    for one in started:
        one.ui.close()


# ---- each page ----

@pytest.mark.parametrize("name", list(FIGURES))
def test_each_page(chromium, serve, name):
    """No complaint and no refusal; the figure of a row is the length of its list, and the count of the server."""
    one = Opened(chromium, serve(name))
    one.open(PAGES[0], "document.querySelector('main canvas')")
    for path in PAGES:
        one.follow(path, "document.querySelector('main').innerText.length > 20")
        assert one.page.eval("[...document.querySelectorAll('.failure')].map((e) => e.textContent)") == [], path
    view, head = FIGURES[name]
    one.follow(f"/views?view={view}", f"document.querySelector('main caption')?.textContent && {ROW}")
    link, figure = one.page.eval(
        f"(() => {{ const r = {ROW}, at = [...document.querySelectorAll('main thead th')].findIndex((h) => "
        f"/^{head}( |$)/.test(h.textContent)); return [r.querySelector('a[data-step]').href, "
        "Number(r.children[at].title.replaceAll(',', ''))]; })()")
    q = re.search(r"[?&]q=([^&]*)", link)[1]
    one.follow("/" + link.split("/", 3)[3], COUNT)
    assert count_of(one.page) == figure > 0
    status, _, body = one.server.ui.ask(f"/api/v1/events?limit=1&view={view}&q={q}")
    assert status == 200 and f'"n":{figure},' in body.decode()
    one.page.close()
    one.check()


# ---- other origins ----

class Quiet(http.server.BaseHTTPRequestHandler):
    def log_message(self, format, *args):
        pass

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><body>")


@pytest.fixture(scope="module")
def other():
    """Port of a server that is not sonde's."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


# What each of them comes to; `token` is the right one, so that the walls alone stand.
ATTEMPTS = {
    "fetch": "got(fetch(to))",
    "fetch with credentials": "got(fetch(to, {credentials: 'include'}))",
    "fetch with the token": "got(fetch(to, {headers: {Authorization: 'Bearer ' + token}}))",
    "fetch that asks for no answer": "got(fetch(to, {mode: 'no-cors'}))",
    "fetch of the page": "got(fetch(server + '/'))",
    "script": "element('script', {src: server + '/app.js'})",
    "module": "import(server + '/app.js').then(() => 'loaded', () => 'blocked')",
    "style": "element('link', {rel: 'stylesheet', href: server + '/app.css'})",
    "image": "element('img', {src: server + '/icon.svg'})",
    "stream": "opens(new EventSource(server + '/api/v1/live'))",
    "socket": "opens(new WebSocket(server.replace('http', 'ws') + '/api/v1/live'))",
    "storage": "Promise.resolve(localStorage.length ? 'stored' : 'blocked')",
}
PRELUDE = """
    const server = SERVER, token = TOKEN, to = server + '/api/v1/meta';
    const got = (p) => p.then((r) => r.text()).then((t) => t || 'nothing to read', () => 'blocked');
    const element = (tag, words) => new Promise((done) => {
        const e = Object.assign(document.createElement(tag), words);
        e.onload = () => done('loaded');
        e.onerror = () => done('blocked');
        document.body.append(e);
    });
    const opens = (s) => new Promise((done) => {
        s.onopen = s.onmessage = () => done('opened');
        s.onerror = () => { s.close(); done('blocked'); };
    });
"""
FRAME = """new Promise((done) => { const e = document.createElement('iframe'); e.src = SERVER;
    e.onload = () => done(1); document.body.append(e); })"""


def frames_of(tree):
    return [tree["frame"]["url"]] + [url for child in tree.get("childFrames", ()) for url in frames_of(child)]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "evil.example"])
def test_other_origins_get_nothing(chromium, serve, other, host):
    """Another port of this host, another site on it, another name: beside a tab that is logged in."""
    server = serve("chain")
    one = Opened(chromium, server)
    one.open("/", "document.querySelector('main canvas')")
    page = chromium.page()
    page.open(f"http://{host}:{other}/")
    prelude = PRELUDE.replace("SERVER", repr(server.address)).replace("TOKEN", repr(server.token))
    said = {name: page.eval(f"(() => {{ {prelude} return {code}; }})()") for name, code in ATTEMPTS.items()}
    assert said == dict.fromkeys(ATTEMPTS, "blocked")
    page.eval(FRAME.replace("SERVER", repr(server.address)))
    assert frames_of(page.call("Page.getFrameTree")["frameTree"])[1:] == ["chrome-error://chromewebdata/"]
    page.close()
    one.page.close()
    one.check()


def test_another_name_for_this_host_gets_nothing(chromium, serve):
    """DNS rebinding: the name of another site, which resolves to this host and names the port of the server."""
    server = serve("chain")
    page = chromium.page()
    page.open(f"http://evil.example:{server.ui.port}/#t={server.token}")
    assert page.eval("document.querySelector('script')") is None
    assert page.eval("fetch('/api/v1/meta', {headers: {Authorization: 'Bearer ' + "
                     f"{server.token!r}}}}}).then((r) => r.status)") == 421
    page.close()
