# SPDX-License-Identifier: GPL-2.0-or-later
"""A browser for the session, servers with made-up events, pages that report what went wrong."""
import os
import threading
import urllib.parse

import pytest

import answers
import browser
import mock

BUILD = os.environ.get("SONDE_BUILD", os.path.join(answers.ROOT, "build"))
WEB = os.path.join(BUILD, "web")


def pytest_collection_modifyitems(items):
    reason = None
    if not browser.PROGRAM:
        reason = "chromium is not installed (tools/setup.sh test)"
    elif not os.path.exists(os.path.join(WEB, "app.js")):
        reason = "the page was not built: esbuild is not installed (tools/setup.sh build)"
    for item in items if reason else ():
        item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def chromium():
    b = browser.Browser()
    yield b
    b.close()


def serve(live, **options):
    server = mock.Server(WEB, live, **options)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture(scope="session")
def servers():
    """By name: hostile, as if it escaped no text; fleet, of two hosts."""
    every = {"recorded": serve(False), "live": serve(True), "hostile": serve(False, bad=True, hosts=("web1", "web2")),
             "fleet": serve(False, hosts=("web1", "web2"))}
    yield every
    for server in every.values():
        server.end()


# Frames in a row, since an answer may lead to the next question.
SETTLED = """(window.idleFrames = document.querySelector('main[aria-busy="true"]') ? 0 :
    (window.idleFrames || 0) + 1) >= 3"""


class Opened:
    """A page of one server. @ignore: problems that a test makes on purpose."""

    def __init__(self, chromium, server, **size):
        self.server, self.page = server, chromium.page(**size)
        self.ignore = ()

    def open(self, address, condition=None):
        url = f"{self.server.address}{address}"
        if self.page.eval("location.href") == url:
            self.page.open("about:blank")     # another fragment alone loads nothing
        self.page.open(f"{url}#t={self.server.token}")
        if condition:
            self.page.wait(condition)
            self.settle()

    def follow(self, address, condition):
        """As a link of the page does: nothing is loaded again."""
        self.page.eval(f"history.pushState(null, '', {address!r}); dispatchEvent(new PopStateEvent('popstate')); 0")
        self.settle()
        self.page.wait(condition)
        self.settle()

    def settle(self):
        """Waits until nothing that the page shows waits for its first answer: a click hits what was looked for."""
        self.page.eval("window.idleFrames = 0")
        self.page.wait(SETTLED)

    def url(self):
        """(path, {name: value}) of the address bar."""
        parts = urllib.parse.urlsplit(self.page.eval("location.href"))
        return parts.path, dict(urllib.parse.parse_qsl(parts.query))

    def problems(self):
        return [p for p in self.page.problems if not any(word in p for word in self.ignore)]

    def picture(self, name):
        folder = os.path.join(BUILD, "check", "ui-pictures")
        os.makedirs(folder, exist_ok=True)
        self.page.shot(os.path.join(folder, f"{name.replace('/', '-')}.png"))

    def check(self):
        """It has not complained, and asked its own server only."""
        assert self.problems() == []
        assert self.page.hosts <= {self.server.address.split("//")[1], ""}


@pytest.fixture
def open_page(chromium, servers, request):
    """open_page(kind, **size) opens a page; at the end none of them may have complained or asked another host."""
    opened = []

    def make(kind="recorded", **size):
        opened.append(Opened(chromium, servers[kind], **size))
        return opened[-1]
    yield make
    failed = getattr(request.node, "failed", False)
    for i, one in enumerate(opened):
        if failed:
            one.picture(f"{request.node.name}-{i}")
        one.page.close()
    if not failed:
        for one in opened:
            one.check()


@pytest.fixture(scope="module")
def tabs():
    """{kind: Opened} that stay open for the tests of a file."""
    kept = {}
    yield kept
    for one in kept.values():
        one.page.close()


@pytest.fixture
def show(chromium, servers, tabs, request):
    """show(kind, address, condition): a page in the tab of that kind, by a step of the page itself; checked at the
    end
    like those of open_page."""
    used = []

    def make(kind, address, condition, **size):
        if kind not in tabs:
            tabs[kind] = Opened(chromium, servers[kind], **size)
            tabs[kind].open(address, condition)
        else:
            tabs[kind].page.emulate(**size)
            tabs[kind].follow(address, condition)
        used.append(kind)
        return tabs[kind]
    yield make
    failed = getattr(request.node, "failed", False)
    for kind in used:
        if failed:
            tabs[kind].picture(request.node.name)
            tabs.pop(kind).page.close()
        else:
            tabs[kind].check()


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if call.when == "call":
        item.failed = outcome.get_result().failed
