#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The page's pictures of a hundred thousand things in chromium: the script's time for a picture of a flame graph that
is moved and zoomed and of a timeline whose cursor moves, the frames meanwhile, and the height of the canvases.
"""
import argparse
import os
import random
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(ROOT, "tests", "ui"))

THINGS, ROWS, STEPS = 100_000, 18, 120
# A key each frame: the page draws before the promise of the next turn is kept. Script time and interval of each.
STEPS_SAID = """new Promise((done) => {
    const canvas = document.querySelector('%s'), keys = %s, script = [], frames = [];
    let last = 0, i = 0;
    const on = async (now) => {
        if (last) frames.push(now - last);
        last = now;
        const t = performance.now();
        canvas.dispatchEvent(new KeyboardEvent('keydown', {key: keys[i %% keys.length], bubbles: true,
            cancelable: true}));
        for (let k = 0; k < 8; k++) await 0;
        script.push(performance.now() - t);
        if (++i < %d) { requestAnimationFrame(on); return; }
        const part = (a, p) => a.sort((x, y) => x - y)[Math.floor((a.length - 1) * p)];
        done([part(script, 0.5), part(script, 0.95), part(frames, 0.5), part(frames, 0.95)]);
    };
    canvas.focus();
    requestAnimationFrame(on);
})"""
TALL = "Math.max(...[...document.querySelectorAll('canvas')].map((c) => c.clientHeight)) <= innerHeight"


def flame(host, per_row=THINGS // ROWS):
    """Every row is full: the densest picture."""
    rng = random.Random(1)
    total = per_row * 1000
    frames, names = [[0, 0, 0, total, 0, 0]], ["all"] + [f"function_{i}" for i in range(8000)]
    for depth in range(1, ROWS + 1):
        edges = [0, *sorted(rng.sample(range(1, total), per_row - 1)), total]
        frames += [[rng.randrange(1, len(names)), depth, a, b - a, 0, 1 + depth % 2] for a, b in
                   zip(edges, edges[1:])]
    return host.ranged(host.begin, host.end(), unit="samples", total=total, samples=total, names=names,
                       trimmed={"frames": 0, "value": 0}, frames=frames,
                       functions=[{"name": n, "self": 1, "total": 2} for n in names[1:1001]])


def tracks(host, threads=20):
    span = host.end() - host.begin
    each = THINGS // threads
    return host.ranged(host.begin, host.end(), pid=1001, states=["running", "runnable", "poll", "disk"], losses=[],
                       n_threads=threads, threads=[
                           {"tid": 1001 + t, "name": "web", "slices": [
                               [i * span // each, span // each * 3 // 4, i % 4, 1] for i in range(each)]}
                           for t in range(threads)])


def report(what, said):
    script, script_95, frame, frame_95 = said
    print(f"ratio\t{what}: script of a picture, median ms\t{script:.1f}\t<=\t8.0")
    print(f"figure\t{what}: script of a picture, 95 %\t{script_95:.1f}\tms")
    print(f"figure\t{what}: interval of frames, median and 95 %\t{frame:.1f}\tms, {frame_95:.1f} ms", flush=True)


def main():
    import browser      # pylint: disable=import-outside-toplevel  below the path that is set above
    import mock         # pylint: disable=import-outside-toplevel
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    args = parser.parse_args()
    server = mock.Server(os.path.join(args.build, "web"))
    big = {"flame": flame(server.host), "tracks": tracks(server.host)}
    server.host.flame, server.host.tracks = (lambda _p, answer=answer: answer for answer in big.values())
    threading.Thread(target=server.serve_forever, daemon=True).start()
    chromium = browser.Browser()
    try:
        page = chromium.page()
        for what, path, keys in (("flame graph", "/cpu", ["w", "d", "d", "a", "s"]),
                                 ("timeline", "/processes?sel=1001", ["ArrowRight", "ArrowDown", "."])):
            page.open("about:blank")
            page.open(f"{server.address}{path}#t={mock.TOKEN}")
            page.wait("document.querySelector('main canvas')?.texts?.length")
            report(f"{what}, {THINGS // 1000} k", page.eval(STEPS_SAID % ("main canvas", keys, STEPS)))
            print(f"check\t{what}: no canvas is taller than the window\t{'right' if page.eval(TALL) else 'WRONG'}")
    finally:
        chromium.close()
        server.end()
    print(f"note\tload {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs", flush=True)


if __name__ == "__main__":
    main()
