# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's chromium through --remote-debugging-pipe: no port, no driver, standard library only.

A message of the DevTools protocol is JSON that ends in a NUL byte; the browser reads descriptor 3 and writes 4.
"""
import base64
import fcntl
import itertools
import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading

PROGRAM = shutil.which("chromium")
HANG_S = 60     # beyond which a browser does not answer any more
# Tabs share one renderer, which lives as long as the browser; a page that was left is gone, with its stream.
OPTIONS = ["--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--disable-extensions",
           "--disable-background-networking", "--disable-component-update", "--disable-sync",
           "--disable-default-apps", "--mute-audio", "--password-store=basic", "--renderer-process-limit=1",
           "--disable-site-isolation-trials", "--disable-features=Translate,MediaRouter,OptimizationHints,"
           "BackForwardCache,IsolateOrigins,site-per-process,PaintHolding,SpareRendererForSitePerProcess",
           "--host-resolver-rules=MAP *.example 127.0.0.1", "--font-render-hinting=none",
           "--force-color-profile=srgb", "about:blank"]
KEYS = {"Enter": (13, "\r"), "Escape": (27, ""), "Tab": (9, ""), "ArrowLeft": (37, ""), "ArrowUp": (38, ""),
        "ArrowRight": (39, ""), "ArrowDown": (40, ""), "Home": (36, ""), "End": (35, ""), " ": (32, " ")}
# The page waits by its own frames: nothing outside polls.
WAIT = """new Promise((done, fail) => {
    const end = performance.now() + LIMIT;
    const look = () => {
        let value;
        try { value = (() => (CONDITION))(); } catch (e) { value = null; }
        if (value) done(value);
        else if (performance.now() > end)
            fail(new Error(`never: ${CODE}\\n${document.body.innerText.slice(0, 1000)}`));
        else requestAnimationFrame(look);
    };
    look();
})"""


class BrowserError(Exception):
    pass


class Browser:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="sonde-ui-")
        to_browser, ours = os.pipe()
        back, from_browser = os.pipe()
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (to_browser, from_browser)]

        def descriptors():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)
        root = ["--no-sandbox"] if os.geteuid() == 0 else []
        # pylint: disable=subprocess-popen-preexec-fn  the descriptors have fixed numbers
        self.child = subprocess.Popen([PROGRAM, f"--user-data-dir={self.folder}", *root, *OPTIONS], pass_fds=(3, 4),
                                      preexec_fn=descriptors, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL, process_group=0)
        for fd in (to_browser, from_browser, *high):
            os.close(fd)
        self.write, self.numbers = os.fdopen(ours, "wb", buffering=0), itertools.count(1)
        self.answers, self.pages, self.closed = {}, {}, []
        threading.Thread(target=self.read, args=(os.fdopen(back, "rb"),), daemon=True).start()

    def read(self, pipe):
        kept = b""
        while data := os.read(pipe.fileno(), 1 << 16):
            *messages, kept = (kept + data).split(b"\0")
            for message in map(json.loads, messages):
                if "id" in message:
                    self.answers[message["id"]].put(message)
                elif message.get("sessionId") in self.pages:
                    self.pages[message["sessionId"]].event(message["method"], message["params"])
        for waiting in list(self.answers.values()):
            waiting.put({"error": {"message": "the browser ended"}})

    def send(self, method, session=None, **params):
        """Asks without waiting: wait() of what comes back has the answer."""
        number, waiting = next(self.numbers), queue.Queue()
        self.answers[number] = waiting
        message = {"id": number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        self.write.write(json.dumps(message).encode() + b"\0")
        return method, number, waiting

    def wait(self, asked):
        method, number, waiting = asked
        try:
            answer = waiting.get(timeout=HANG_S)
        except queue.Empty:
            raise BrowserError(f"{method}: no answer in {HANG_S} s") from None
        finally:
            del self.answers[number]
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def call(self, method, session=None, **params):
        return self.wait(self.send(method, session, **params))

    def page(self, window=False, **options):
        """An empty tab: one that was closed before, or a new one. @window: of its own, visible beside others."""
        page = self.closed.pop() if self.closed and not window else Page(self, window)
        page.begin(**options)
        return page

    def close(self):
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Page:
    """A tab. Its storage is empty from begin() on."""

    def __init__(self, browser, window=False):
        self.browser, self.problems, self.hosts, self.origins = browser, [], set(), set()
        self.loaded = threading.Event()
        self.target = browser.call("Target.createTarget", url="about:blank", newWindow=window)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        browser.pages[self.session] = self
        self.call_all(*((f"{domain}.enable", {}) for domain in ("Page", "Runtime", "Network", "Log")),
                      ("Emulation.setTimezoneOverride", {"timezoneId": "UTC"}))

    def begin(self, **size):
        self.problems, self.hosts = [], set()
        self.call("Page.bringToFront")      # a tab behind another one is hidden and draws nothing
        self.emulate(**size)

    def emulate(self, width=1280, height=720, dark=False, touch=False, scale=1, features=()):
        """From now on, without loading anything again."""
        self.call_all(
            ("Emulation.setDeviceMetricsOverride",
             {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": touch}),
            ("Emulation.setTouchEmulationEnabled", {"enabled": touch}),
            ("Emulation.setEmulatedMedia", {"features": [
                {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                *({"name": name, "value": value} for name, value in features)]}))

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def call_all(self, *calls):
        """(method, parameters) each, in order; waits once."""
        for asked in [self.browser.send(method, self.session, **params) for method, params in calls]:
            self.browser.wait(asked)

    def event(self, method, params):
        if method == "Page.loadEventFired":
            self.loaded.set()
        elif method == "Runtime.exceptionThrown":
            detail = params["exceptionDetails"]
            self.problems.append(detail.get("exception", {}).get("description") or detail["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.problems.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            entry = params["entry"]
            self.problems.append(f"{entry['text']} {entry.get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.hosts.add(params["request"]["url"].split("/", 3)[2])

    def open(self, url):
        self.origins.add("/".join(url.split("/", 3)[:3]))
        self.loaded.clear()
        self.call("Page.navigate", url=url)
        if not self.loaded.wait(HANG_S):
            raise BrowserError(f"{url} was not loaded in {HANG_S} s")

    def eval(self, code):
        answer = self.call("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            detail = answer["exceptionDetails"]
            raise BrowserError(detail.get("exception", {}).get("description") or detail["text"])
        return answer["result"].get("value")

    def wait(self, condition, limit_ms=30_000):
        code = WAIT.replace("LIMIT", str(limit_ms)).replace("CODE", json.dumps(condition))
        code = code.replace("CONDITION", condition, 1)
        while True:
            try:
                return self.eval(code)
            except BrowserError as e:       # the page was loaded anew meanwhile
                if "Inspected target navigated" not in str(e):
                    raise

    def key(self, name, times=1):
        code, text = KEYS.get(name, (ord(name.upper()) if len(name) == 1 else 0, name if len(name) == 1 else ""))
        common = {"key": name, "windowsVirtualKeyCode": code}
        down = {"type": "keyDown" if text else "rawKeyDown", "text": text, **common}
        both = [("Input.dispatchKeyEvent", down), ("Input.dispatchKeyEvent", {"type": "keyUp", **common})]
        self.call_all(*both * times)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def box(self, selector):
        """(left, top, width, height) of the first match, scrolled into view."""
        return self.eval(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); "
                         "e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect(); "
                         "return [r.x, r.y, r.width, r.height]; })()")

    def mouse(self, kind, x, y, count=1):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
                  buttons=int(kind != "mouseReleased"), clickCount=count)

    def click(self, selector):
        x, y, w, h = self.box(selector)
        self.mouse("mousePressed", x + w / 2, y + h / 2)
        self.mouse("mouseReleased", x + w / 2, y + h / 2)

    def drag(self, selector, start, end):
        """@start, @end: (part of the width, part of the height)."""
        x, y, w, h = self.box(selector)
        points = [(x + w * a, y + h * b) for a, b in (start, end)]
        self.mouse("mousePressed", *points[0])
        self.mouse("mouseMoved", *points[1])
        self.mouse("mouseReleased", *points[1])

    def shot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))

    def tree(self):
        """(role, name) of each node of the accessibility tree that is not ignored."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in nodes if not n.get("ignored")]

    def close(self):
        """Leaves what it shows and forgets what that stored; Browser.page() opens it again."""
        self.open("about:blank")
        self.call_all(*(("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
                        for origin in self.origins if origin.startswith("http")))
        self.origins.clear()
        self.browser.closed.append(self)
