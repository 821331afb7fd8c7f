// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Flame graph of the frames that the server kept: rows sorted by start, the first visible one found by halving,
 * frames under a pixel merged into runs. The canvas is never taller than the window; deep stacks scroll inside it.
 */
import { h } from "preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import type { FlameAnswer, Frame } from "../api";
import { percent, plural, value } from "../format";
import { Canvas, type Point } from "./canvas";
import { Rects, text, type Colour, type Pic } from "./paint";

const ROW_PX = 18;
const PARTS: Colour[] = ["note", "user", "kernel", "note"];
const FORCED = matchMedia("(forced-colors: active)"); // frames have no colours of their own then, but borders

export interface Window {
  start: number;
  total: number;
}

interface Props {
  label: string;
  data: FlameAnswer;
  grow: "up" | "down"; // flame, icicle
  find: string;
  chosen: number | null; // index of a name
  choose: (name: number | null, frame: Frame | null) => void;
  height: number;
  zoomed?: (w: Window | null) => void;
}

function rowsOf(data: FlameAnswer): Frame[][] {
  const rows: Frame[][] = [];

  for (const f of data.frames)
    (rows[f[1]] = rows[f[1]] || []).push(f);
  return rows.map((r) => r || []);
}

/* Index of the first frame of a row that ends behind @start. */
function firstBehind(row: Frame[], start: number): number {
  let low = 0, high = row.length;

  while (low < high) {
    const mid = (low + high) >> 1;

    if (row[mid][2] + row[mid][3] <= start)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

/* How a frame's share changed against the older range, -1 to 1. */
function change(f: Frame, data: FlameAnswer): number {
  const now = f[3] / Math.max(1, data.total), old = (f[6] ?? 0) / Math.max(1, data.total_old ?? 1);

  return now + old ? (now - old) / (now + old) : 0;
}

export function Flame(p: Props) {
  const { data } = p;
  const rows = useMemo(() => rowsOf(data), [data]);
  const [at, setAt] = useState<Window>({ start: 0, total: data.total });
  const [scroll, setScroll] = useState(0);
  const [frame, setFrame] = useState<Frame | null>(null);
  const found = useMemo(() => {
    const word = p.find.toLowerCase();

    return word ? data.names.map((n) => n.toLowerCase().includes(word)) : null;
  }, [data, p.find]);
  const fits = Math.floor(p.height / ROW_PX);
  const deepest = Math.max(0, rows.length - fits);
  const from = Math.min(scroll, deepest);
  const diff = data.total_old !== undefined;

  useEffect(() => {
    setAt({ start: 0, total: data.total });
    setFrame(null);
  }, [data.total, data.names.length]);

  const rowY = (depth: number) => (p.grow === "down" ? (depth - from) * ROW_PX :
    p.height - (depth - from + 1) * ROW_PX);

  const draw = useCallback((pic: Pic) => {
    const perPx = at.total / pic.width;
    const { ctx } = pic;
    const plain = new Rects(), dim = new Rects(), borders = new Rects(), hits = new Rects();

    const put = (f: Frame | null, x: number, w: number, y: number) => {
      const hit = f && (f[0] === p.chosen || (found && found[f[0]]));
      const by = f && diff ? change(f, data) : 0;
      const colour: Colour = Math.abs(by) > 0.05 ? (by > 0 ? "more" : "less") : (f && PARTS[f[5]]) || "other";

      (found && f && !found[f[0]] ? dim : plain).add(colour, x, y, Math.max(1, w - (w > 3 ? 1 : 0)), ROW_PX - 1);
      if (FORCED.matches && w > 3)
        borders.add("line", x + 0.5, y + 0.5, w - 2, ROW_PX - 2);
      if (hit)
        hits.add("mark", x + 1, y + 1, Math.max(1, w - 3), ROW_PX - 3);
    };

    for (let depth = from; depth < Math.min(rows.length, from + fits); depth++) {
      const row = rows[depth], y = rowY(depth);
      const names: [string, number, number][] = [];
      let runTo = -1, runFrom = 0;

      for (let i = firstBehind(row, at.start); i < row.length && row[i][2] < at.start + at.total; i++) {
        const f = row[i];
        const x = Math.max(0, (f[2] - at.start) / perPx);
        const w = Math.min(pic.width, (f[2] + f[3] - at.start) / perPx) - x;

        if (w < 1 && (!found || !found[f[0]])) {
          if (x > runTo + 0.5) {
            if (runTo >= 0)
              put(null, runFrom, runTo - runFrom, y);
            runFrom = x;
          }
          runTo = Math.max(runTo, x + w);
          continue;
        }
        put(f, x, w, y);
        if (w > 24 && !(found && !found[f[0]]))
          names.push([data.names[f[0]], x + 4, w - 8]);
      }
      if (runTo >= 0)
        put(null, runFrom, Math.max(1, runTo - runFrom), y);
      plain.fill(pic);
      dim.fill(pic, 0.35);
      borders.stroke(pic, 1);
      hits.stroke(pic, 2);
      names.forEach(([name, x, max]) => text(pic, name, x, y + ROW_PX / 2, { max, colour: "on" }));
    }
    if (frame) {
      ctx.strokeStyle = pic.colour.fg;
      ctx.lineWidth = 1;
      ctx.strokeRect(Math.max(0, (frame[2] - at.start) / perPx) + 0.5, rowY(frame[1]) + 0.5,
        Math.min(pic.width, frame[3] / perPx) - 2, ROW_PX - 2);
    }
  }, [rows, at, from, fits, found, frame, p.chosen, p.grow, p.height, data]);

  function frameAt(pt: Point): Frame | null {
    const line = Math.floor((p.grow === "down" ? pt.y : p.height - pt.y) / ROW_PX) + from;
    const row = rows[line];
    const value = at.start + (pt.x / pt.width) * at.total;
    const f = row?.[firstBehind(row, value)];

    return f && f[2] <= value ? f : null;
  }

  function show(w: Window): void {
    const total = Math.min(data.total, Math.max(data.total / 1e6, w.total));
    const next = { total, start: Math.min(data.total - total, Math.max(0, w.start)) };

    setAt(next);
    p.zoomed?.(next.total < data.total ? next : null);
  }

  function zoom(by: number, around = 0.5): void {
    const total = at.total * by;

    show({ total, start: at.start + (at.total - total) * around });
  }

  function into(f: Frame | null): void {
    if (f)
      show({ start: f[2], total: f[3] });
  }

  function near(line: number, value: number): Frame | null {
    const row = rows[line];

    return row ? row[Math.min(row.length - 1, firstBehind(row, value))] || null : null;
  }

  function move(k: string): Frame | null {
    if (!frame)
      return rows[0]?.[0] || null;
    const middle = frame[2] + frame[3] / 2, row = rows[frame[1]], i = row.indexOf(frame);
    const up = (k === "ArrowUp") === (p.grow === "up");

    if (k === "ArrowUp" || k === "ArrowDown")
      return up ? near(frame[1] + 1, frame[2]) || frame : near(frame[1] - 1, middle) || frame;
    return row[i + (k === "ArrowRight" || k === "." ? 1 : -1)] || frame;
  }

  function keys(k: string): boolean {
    switch (k) {
    case "w": zoom(0.5); return true;
    case "s": zoom(2); return true;
    case "a": show({ ...at, start: at.start - at.total / 4 }); return true;
    case "d": show({ ...at, start: at.start + at.total / 4 }); return true;
    case "f": into(frame); return !!frame;
    case "Home": show({ start: 0, total: data.total }); setScroll(0); return true;
    case "Enter":
      if (frame) {
        into(frame);
        p.choose(frame[0], frame);
      }
      return !!frame;
    case "ArrowUp": case "ArrowDown": case "ArrowLeft": case "ArrowRight": case ".": case ",": {
      const f = move(k);

      setFrame(f);
      if (f && (f[1] < from || f[1] >= from + fits))
        setScroll(Math.max(0, f[1] - Math.floor(fits / 2)));
      return true;
    }
    case "Escape":
      if (at.total >= data.total && !frame)
        return false;
      show({ start: 0, total: data.total });
      setFrame(null);
      p.choose(null, null);
      return true;
    default: return false;
    }
  }

  const share = (v: number, all: number) => percent((100 * v) / Math.max(1, all));
  const said = frame && `${data.names[frame[0]]}: ${value(frame[3], data.unit)} (${
    share(frame[3], data.total)}), self ${
    value(frame[4], data.unit)}${diff ? `, was ${share(frame[6] ?? 0, data.total_old!)}` : ""}`;

  return (
    <Canvas label={`${p.label}, ${plural(data.frames.length, "frame")}; functions are in the table beside it`}
      height={p.height} draw={draw} keys={keys} move={(pt) => setFrame(pt && frameAt(pt))}
      click={(pt) => { const f = frameAt(pt); into(f); p.choose(f ? f[0] : null, f); }}
      select={(r) => show({ start: at.start + (r.x0 / r.width) * at.total,
        total: ((r.x1 - r.x0) / r.width) * at.total })}
      wheel={(_pt, steps) => {
        const next = Math.min(deepest, Math.max(0, from + steps * (p.grow === "up" ? -1 : 1) * 2));

        setScroll(next);
        return next !== from;
      }}>
      <p class="readout">{said || `${data.unit === "samples" ? "" : `${value(data.total, data.unit)} in `}${
        plural(data.samples, data.unit === "samples" ? "sample" : "event")}${
        data.trimmed.frames ? `; trimmed ${plural(data.trimmed.frames, "frame")} (${
          share(data.trimmed.value, data.total)})` : ""}; click zooms, Escape shows all`}</p>
    </Canvas>
  );
}
