// SPDX-License-Identifier: GPL-2.0-or-later
/* States of threads over time: a row each. Time without a slice is not known and stays empty. */
import { h } from "preact";
import { useCallback, useMemo, useState } from "preact/hooks";
import type { Slice, TracksAnswer } from "../api";
import { duration, percent, plural, safe } from "../format";
import { go, rangeChange } from "../state";
import { clock, digitsFor } from "../time";
import { Canvas, type Point } from "./canvas";
import { AXIS_PX, Rects, hatch, text, timeAxis, toOffset, toX, type Axis, type Colour, type Pic } from "./paint";

const ROW_PX = 20;
const LEFT_PX = 120;
const LOSS_PX = 8; // a loss has a time and no length: wide enough to be seen as hatched

/* States that the page knows by colour; each is also said in words. */
const COLOURS: Record<string, Colour> = {
  running: "run", sampled: "run", runnable: "wait", sleeping: "sleep", poll: "sleep", timer: "sleep", sleep: "sleep",
  wait: "sleep", idle: "sleep", disk: "disk", "page fault": "disk", reclaim: "disk", read: "net", write: "net",
  socket: "net", network: "net", "socket read": "net", "socket write": "net", accept: "queue", connect: "net",
  queue: "queue", lock: "lock", futex: "lock", "kernel lock": "lock", peer: "net", stopped: "other", unknown: "other",
  throttled: "wait",
};

export function stateColour(name: string): Colour {
  return COLOURS[name] || "other";
}

interface Place {
  thread: number;
  slice: number;
}

interface Props {
  data: TracksAnswer;
  label: string;
  height: number; // at most
}

function axisOf(d: TracksAnswer, width: number): Axis {
  const from = BigInt(d.from);
  const left = Math.min(LEFT_PX, width / 3);

  return { from, span: Math.max(1, Number(BigInt(d.to) - from)), left, width: Math.max(1, width - left) };
}

function firstBehind(slices: Slice[], offset: number): number {
  let low = 0, high = slices.length;

  while (low < high) {
    const mid = (low + high) >> 1;

    if (slices[mid][0] + slices[mid][1] <= offset)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

export function Tracks({ data, label, height }: Props) {
  const [scroll, setScroll] = useState(0);
  const [place, setPlace] = useState<Place | null>(null);
  const fits = Math.max(1, Math.floor((height - AXIS_PX - 2) / ROW_PX));
  const used = Math.min(fits, Math.max(1, data.threads.length));
  const from = Math.min(scroll, Math.max(0, data.threads.length - fits));
  const tall = used * ROW_PX;

  const draw = useCallback((p: Pic) => {
    const a = axisOf(data, p.width);

    const colours = data.states.map(stateColour), rects = new Rects();

    data.threads.slice(from, from + used).forEach((t, i) => {
      const y = i * ROW_PX;
      let runTo = -1;

      text(p, `${t.tid} ${t.name}`, 2, y + ROW_PX / 2, { max: a.left - 6 });
      for (const [offset, length, state] of t.slices) {
        const x = toX(a, offset), end = toX(a, offset + length);

        if (end <= runTo)
          continue;
        runTo = Math.max(x + 1, end);
        rects.add(colours[state], x, y + 2, runTo - x, ROW_PX - 4);
      }
      rects.fill(p);
    });
    const sl = sliceOf(place);

    if (place && sl && place.thread >= from && place.thread < from + used) {
      const x = toX(a, sl[0]);

      rects.add("fg", x, (place.thread - from) * ROW_PX + 1, Math.max(2, toX(a, sl[0] + sl[1]) - x), ROW_PX - 2);
      rects.stroke(p, 2);
    }
    data.losses.forEach(([offset]) => hatch(p, toX(a, offset), 0, LOSS_PX, tall));
    timeAxis(p, a, tall + 1);
  }, [data, from, used, place]);

  function placeAt(at: Point): Place | null {
    const a = axisOf(data, at.width), thread = from + Math.floor(at.y / ROW_PX);
    const slices = data.threads[thread]?.slices;

    if (!slices || at.x < a.left || at.y > tall)
      return null;
    const offset = toOffset(a, at.x), slice = firstBehind(slices, offset);

    return slices[slice] && slices[slice][0] <= offset + a.span / a.width ? { thread, slice } : null;
  }

  const sliceOf = (p: Place | null) => (p ? data.threads[p.thread]?.slices[p.slice] : undefined);

  function open(p: Place | null): void {
    const sl = sliceOf(p);

    if (!p || !sl)
      return;
    const at = BigInt(data.from) + BigInt(Math.floor(sl[0]));

    go({ page: "events", q: `thread.tid=${data.threads[p.thread].tid}`,
      ...rangeChange(at, at + BigInt(Math.ceil(sl[1])) + 1n) });
  }

  function keys(k: string): boolean {
    const sl = sliceOf(place);

    if (k === "Enter" && sl) {
      open(place);
    } else if (k === "f" && sl) {
      const at = BigInt(data.from) + BigInt(Math.floor(sl[0]));

      go(rangeChange(at, at + BigInt(Math.ceil(sl[1]))));
    } else if (k === "." || k === "," || k === "ArrowLeft" || k === "ArrowRight") {
      const thread = place?.thread ?? 0, n = data.threads[thread]?.slices.length ?? 0;
      const by = k === "." || k === "ArrowRight" ? 1 : -1;

      if (n)
        setPlace({ thread, slice: Math.min(n - 1, Math.max(0, (place?.slice ?? (by > 0 ? -1 : n)) + by)) });
    } else if (k === "ArrowUp" || k === "ArrowDown") {
      const thread = Math.min(data.threads.length - 1, Math.max(0,
        (place?.thread ?? -1) + (k === "ArrowUp" ? -1 : 1)));

      setPlace({ thread, slice: sl ? Math.min(firstBehind(data.threads[thread].slices, sl[0]),
        data.threads[thread].slices.length - 1) : 0 });
      setScroll(thread < from ? thread : thread >= from + used ? thread - used + 1 : from);
    } else {
      return false;
    }
    return true;
  }

  const sl = sliceOf(place);
  const lost = data.losses.reduce((n, [, count]) => n + count, 0);

  return (
    <Canvas label={`${label}, ${plural(data.threads.length, "thread")}; totals are in the table below`}
      height={tall + AXIS_PX + 4} draw={draw} keys={keys} whole move={(at) => setPlace(at && placeAt(at))}
      click={(at) => open(placeAt(at))}
      select={(r) => {
        const a = axisOf(data, r.width);

        go(rangeChange(a.from + BigInt(Math.floor(toOffset(a, r.x0))),
          a.from + BigInt(Math.ceil(toOffset(a, r.x1)))));
      }}
      wheel={(_at, steps) => {
        const next = Math.min(Math.max(0, data.threads.length - fits), Math.max(0, from + steps * 2));

        setScroll(next);
        return next !== from;
      }}>
      <p class="readout">{sl && place ? `${data.threads[place.thread].tid} ${
        safe(data.threads[place.thread].name)}: ${
        data.states[sl[2]]} for ${duration(sl[1])} from ${clock(BigInt(data.from) + BigInt(Math.floor(sl[0])),
        digitsFor(sl[1] * 10))}${sl[3] > 1 ? ` (${sl[3]} merged)` : ""}` :
        "drag to select a range; arrows and . , move, Enter opens the events of a slice"}{
        lost ? `; ${plural(lost, "record")} of the host lost where hatched` : ""}</p>
    </Canvas>
  );
}

/* The same as figures: state, time, share of the range, of each thread. */
export function TrackTable({ data }: { data: TracksAnswer }) {
  const span = Number(BigInt(data.to) - BigInt(data.from));
  const rows = useMemo(() => data.threads.map((t) => {
    const sums = data.states.map(() => 0);

    t.slices.forEach((sl) => {
      sums[sl[2]] += sl[1];
    });
    return { t, sums };
  }), [data]);
  const states = data.states.map((name, i) => ({ name, i })).filter(({ i }) => rows.some((r) => r.sums[i]));

  return (
    <div class="scroll" tabIndex={0}><table class="tracks">
      <caption>time by state, share of the range</caption>
      <thead><tr><th scope="col">thread</th>{states.map(({ name }) => <th scope="col" class="num">
        <i class={`swatch s-${stateColour(name)}`} />{name}</th>)}
          <th scope="col" class="num">not known</th></tr></thead>
      <tbody>{rows.map(({ t, sums }) => <tr><th scope="row">{t.tid} {safe(t.name)}</th>
        {states.map(({ i }) => <td class="num">{sums[i] ? `${duration(sums[i])} ${percent((100 * sums[i]) / span)}` :
          "0"}</td>)}
        <td class="num">{percent((100 * Math.max(0, span - sums.reduce((n, v) => n + v, 0))) / span)}</td></tr>)}
      </tbody></table></div>
  );
}
