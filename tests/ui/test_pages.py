# SPDX-License-Identifier: GPL-2.0-or-later
"""Each page in each size, live and recorded: no complaint, nothing sideways, names, contrast, keyboard."""
import os

import pytest

from pages import PAGES, SIZES, address

# Of each text on a canvas: the ground is the most frequent colour of its box, the ink the one that differs most.
CONTRAST = """(() => {
    const part = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
    const light = (c) => 0.2126 * part(c >> 16) + 0.7152 * part((c >> 8) & 255) + 0.0722 * part(c & 255);
    const found = [];
    let texts = 0;
    for (const canvas of document.querySelectorAll("canvas")) {
        if (!canvas.width || !canvas.texts.length) continue;
        const scale = canvas.width / canvas.clientWidth;
        // A copy: the browser warns of a page that reads a canvas more than once.
        const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true});
        copy.drawImage(canvas, 0, 0);
        const all = copy.getImageData(0, 0, canvas.width, canvas.height).data;
        for (const b of canvas.texts) {
            const x = Math.max(0, Math.round(b.x * scale)), y = Math.max(0, Math.round((b.y - 1) * scale));
            const w = Math.min(canvas.width - x, Math.round(b.w * scale));
            const h = Math.min(canvas.height - y, Math.round((b.h + 2) * scale));
            if (w < 2 || h < 2 || !b.text.trim()) continue;
            const counts = new Map();
            for (let i = 0; i < w * h; i++) {
                const at = ((y + Math.floor(i / w)) * canvas.width + x + (i % w)) * 4;
                const c = (all[at] << 16) | (all[at + 1] << 8) | all[at + 2];
                counts.set(c, (counts.get(c) || 0) + 1);
            }
            const ground = [...counts].sort((p, q) => q[1] - p[1])[0][0];
            let best = 1;
            for (const c of counts.keys()) {
                const [a, z] = [light(c), light(ground)].sort((p, q) => q - p);
                best = Math.max(best, (a + 0.05) / (z + 0.05));
            }
            texts++;
            if (best < 4.5) found.push(`${b.text}: ${best.toFixed(2)} on #${ground.toString(16)}`);
        }
    }
    return [texts, found];
})()"""

# Of each element with text of its own: its colour against the nearest ground that is not transparent.
DOM_CONTRAST = """(() => {
    const rgb = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
    const part = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
    const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    const ground = (e) => {
        for (; e; e = e.parentElement) {
            const c = rgb(getComputedStyle(e).backgroundColor);
            if (c.length === 3 || c[3] === 1) return c;
        }
        return [255, 255, 255];
    };
    const found = [];
    for (const e of document.querySelectorAll("body *")) {
        const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
        if (!own || !e.checkVisibility() || e.closest("svg, noscript")) continue;
        const [a, b] = [light(rgb(getComputedStyle(e).color)), light(ground(e))].sort((p, q) => q - p);
        if ((a + 0.05) / (b + 0.05) < 4.5)
            found.push(`${e.tagName} ${e.className} ${e.textContent.slice(0, 30)}`);
    }
    return found;
})()"""

# Elements that a user of the keyboard must reach: all that react, but rows of a list beyond the first of them.
REACT = ("a[href], button, input, select, summary, canvas, [tabindex=\\\"0\\\"]")
MARK = f"""(() => {{
    let n = 0;
    document.querySelectorAll("[data-reach]").forEach((e) => delete e.dataset.reach);
    for (const e of document.querySelectorAll("{REACT}")) {{
        if (e.checkVisibility({{visibilityProperty: true}}) && !e.disabled && !e.closest("[inert], .window"))
            e.dataset.reach = String(n++);
    }}
    return n;
}})()"""

AXE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "vendor", "axe-core", "axe.js")
NAMELESS = ("button", "link", "textbox", "combobox", "checkbox", "image", "img", "searchbox", "graphics-object")


AXE_ALL = """axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations.map(
    (v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => n.html.slice(0, 120)).slice(0, 3).join(" | ")}`))"""
# Other colours change neither names nor structure.
AXE_COLOURS = AXE_ALL.replace("{res", '{runOnly: ["color-contrast", "link-in-text-block"], res')

MOVES = {"overview": "main", "calls": "main", "cpu": "main", "threads": "main", "one call": "aside"}
FEATURES = [("forced-colors", "active"), ("prefers-reduced-motion", "reduce"), ("prefers-contrast", "more")]
PICTURES_READY = "[...document.querySelectorAll('main canvas')].every((c) => c.texts?.length)"
# Frames in which a new size or new colours reach what is drawn.
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"


@pytest.fixture(scope="session")
def axe():
    with open(AXE, encoding="utf-8") as f:
        return f.read()


WIDER = """(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    return [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > width + 1 &&
        !e.parentElement.closest('.scroll, nav ul, .events')).map((e) => `${e.tagName}.${e.className} ${
        e.getBoundingClientRect().right}`).slice(0, 10);
})()"""


# Tables and maps scroll within themselves if the window does not hold them: on a phone only.
CUT = """innerWidth < 761 ? [] : [...document.querySelectorAll('main .scroll')].filter(
    (e) => e.scrollWidth > e.clientWidth).map(
    (e) => `${e.querySelector('caption')?.textContent}: ${e.scrollWidth} in ${e.clientWidth}`)"""


def dress(one, width, **look):
    """As if the window or its user's preferences had changed: nothing is loaded again."""
    one.page.emulate(width=width, **look)
    one.page.wait(f"[innerWidth, document.documentElement.clientWidth].includes({width})")
    one.page.eval(DRAWN)
    one.settle()
    one.page.wait(PICTURES_READY)


def check_contrast(page):
    texts, pale = page.eval(CONTRAST)
    assert pale == []
    assert texts or not page.eval("!!document.querySelector('main canvas')")


def check_look(page):
    """Nothing is cut, pale or without a name."""
    assert page.eval(WIDER) == []   # than the window: innerWidth of a phone grows with the page
    assert page.eval(CUT) == []
    check_contrast(page)
    assert page.eval(DOM_CONTRAST) == []
    assert page.eval("[...document.querySelectorAll('canvas')].every((c) => c.clientHeight <= innerHeight)")
    nameless = [role for role, text in page.tree() if role in NAMELESS and not text]
    assert nameless == []
    assert page.eval("document.querySelectorAll('main').length") == 1
    assert page.eval("new Set([...document.querySelectorAll('[id]')].map((e) => e.id)).size == "
                     "document.querySelectorAll('[id]').length")


def check_keyboard(page):
    """Tab reaches each element that reacts."""
    count = page.eval(MARK)
    page.eval("window.reached = new Set(); document.activeElement?.blur(); "
              "addEventListener('focusin', (e) => reached.add(e.target.dataset.reach)); 0")
    page.key("Tab", times=count + 40)
    assert page.eval(f"""[...Array({count}).keys()].filter((n) => !reached.has(String(n)))
        .map((n) => document.querySelector(`[data-reach="${{n}}"]`)?.outerHTML.slice(0, 120))""") == []


def check_moves(page, where):
    """Keys of the focused canvas change what the line below says."""
    page.eval(f"document.querySelector('{where} .pic canvas').focus()")
    said = set()
    for key in ("ArrowRight", "ArrowUp", ".", ".", ","):
        page.key(key)
        said.add(page.eval(f"document.querySelector('{where} .pic .readout').textContent"))
    assert len(said) >= 2
    assert not any("undefined" in text or "NaN" in text for text in said)


def check_sizes(one, axe):
    """In each size and colour, beginning with the light one that is shown."""
    one.page.wait(PICTURES_READY)
    if not one.page.eval("!!window.axe"):
        one.page.eval(axe + "; true")
    for size, rules in (("light", AXE_ALL), ("dark", AXE_COLOURS), ("phone", AXE_ALL)):
        if size != "light":
            dress(one, **SIZES[size], scale=1 if size == "phone" else 2)
        check_look(one.page)
        assert one.page.eval(rules) == [], size


@pytest.mark.parametrize("name", list(PAGES))
def test_recorded(show, servers, axe, name):
    """The keyboard last, since it changes what is chosen."""
    one = show("recorded", *address(name, servers["recorded"]), **SIZES["light"], scale=2)
    check_sizes(one, axe)
    for feature in FEATURES if name in ("overview", "cpu", "threads") else ():
        dress(one, **SIZES["light"], scale=2, features=[feature])
        check_contrast(one.page)
    dress(one, **SIZES["light"])
    check_keyboard(one.page)
    if name in MOVES:
        check_moves(one.page, MOVES[name])


@pytest.mark.parametrize("name", ["overview", "calls", "one call", "processes", "events", "recordings"])
def test_fleet(show, servers, axe, name):
    check_sizes(show("fleet", *address(name, servers["fleet"]), **SIZES["light"], scale=2), axe)


@pytest.mark.parametrize("name", list(PAGES))
def test_live(show, servers, axe, name):
    check_sizes(show("live", *address(name, servers["live"]), **SIZES["light"], scale=2), axe)
