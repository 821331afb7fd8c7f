// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who talks to whom, in layers: an end stands to the right of those that open flows to it. Each line is a link to its
 * flows; its width follows the bytes.
 */
import { h } from "preact";
import type { Row, View, ViewAnswer } from "../api";
import { bytes, safe } from "../format";
import { both } from "../filter";
import { href, useUrl } from "../state";

interface End {
  name: string;
  layer: number;
  order: number;
  x: number;
  y: number;
}

interface Edge {
  from: string;
  to: string;
  bytes: number;
  rows: Row[];
}

const WIDE = 190;
const GAP = 130;
const TALL = 24;
const BACK = 60; // of a line to an end of the same layer or one to the left

function edgesOf(view: View, data: ViewAnswer): Edge[] {
  const at = (field: string) => view.keys.findIndex((k) => k.field === field);
  const [from, to, name] = [at("client.ip"), at("server.ip"), at("proc.name")];
  const sums = ["sent", "received"].map((n) => view.cols.findIndex((c) => c.name === n)).filter((i) => i >= 0);
  const all = new Map<string, Edge>(), owners = new Map<string, Set<string>>();
  const rows = from < 0 || to < 0 ? [] : data.rows.filter((r) => !r.other);
  const ofRow = (r: Row) => (name >= 0 && r.keys[name] !== "(unknown)" ? `${r.keys[name]} ` : "") + r.keys[from];

  for (const r of rows)
    owners.set(r.keys[from], (owners.get(r.keys[from]) || new Set()).add(ofRow(r)));
  for (const r of rows) {
    // An address from which one process alone opens flows is that process where it is the other end, too.
    const mine = owners.get(r.keys[to]);
    const who = ofRow(r), server = mine?.size === 1 ? [...mine][0] : r.keys[to];
    const key = `${who}\n${server}`;
    const e = all.get(key) || { from: who, to: server, bytes: 0, rows: [] };

    e.bytes += sums.reduce((n, i) => n + (r.values[i] ?? 0), 0);
    e.rows.push(r);
    all.set(key, e);
  }
  return [...all.values()];
}

/* Longest way from an end that nothing opens flows to; circles end after as many rounds as there are ends. */
function layers(edges: Edge[]): Map<string, End> {
  const ends = new Map<string, End>();

  for (const e of edges) {
    for (const name of [e.from, e.to])
      ends.set(name, ends.get(name) || { name, layer: 0, order: 0, x: 0, y: 0 });
  }
  for (let round = 0; round < Math.min(ends.size, 6); round++) {
    for (const e of edges) {
      const a = ends.get(e.from)!, b = ends.get(e.to)!;

      if (a !== b && b.layer <= a.layer && a.layer < 5)
        b.layer = a.layer + 1;
    }
  }
  return ends;
}

function place(ends: Map<string, End>, edges: Edge[]): { width: number; height: number } {
  const byLayer: End[][] = [];

  for (const e of ends.values())
    (byLayer[e.layer] = byLayer[e.layer] || []).push(e);
  const used = byLayer.filter(Boolean);

  used.forEach((list, i) => {
    // Beside those that it talks to: fewer crossings.
    const weight = (end: End) => {
      const other = edges.filter((e) => e.to === end.name).map((e) => ends.get(e.from)!.y);

      return other.length ? other.reduce((n, y) => n + y, 0) / other.length : 0;
    };

    list.sort((a, b) => weight(a) - weight(b) || a.name.localeCompare(b.name)).forEach((end, j) => {
      end.x = i * (WIDE + GAP);
      end.y = j * (TALL + 14);
    });
  });
  const most = used.reduce((n, l) => Math.max(n, l.length), 1);

  return { width: used.length * (WIDE + GAP) - GAP, height: most * (TALL + 14) };
}

function cut(text: string): string {
  const shown = safe(text);

  return shown.length > 26 ? `${shown.slice(0, 25)}~` : shown;
}

export function FlowMap({ view, data }: { view: View; data: ViewAnswer }) {
  const s = useUrl();
  const edges = edgesOf(view, data);
  const ends = layers(edges);
  const { width, height } = place(ends, edges);
  const max = edges.reduce((n, e) => Math.max(n, e.bytes), 1);

  if (!edges.length)
    return <p class="empty">no flow in this range</p>;
  const q = (e: Edge) => both(s.q, e.rows.map((r) => r.filter).filter(Boolean).map((f) =>
    (e.rows.length > 1 ? `(${f})` : f)).join(" or "));

  return (
    <figure class="map scroll" tabIndex={0}>
      <svg viewBox={`-4 -4 ${width + 8 + BACK} ${height + 8}`} width={width + 8 + BACK} height={height + 8}
        role="group" aria-label={`map of ${edges.length} pairs; the same rows are in the table`}>
        {edges.map((e) => {
          const a = ends.get(e.from)!, b = ends.get(e.to)!;
          const x0 = a.x + WIDE, y0 = a.y + TALL / 2, x1 = b.x, y1 = b.y + TALL / 2;
          const bow = a === b ? TALL / 4 : 0; // to itself: out of its right side, and in again below
          const d = x1 > x0 ? `M${x0} ${y0} C${x0 + GAP / 2} ${y0} ${x1 - GAP / 2} ${y1} ${x1} ${y1}` :
            `M${x0} ${y0 - bow} C${x0 + BACK} ${y0 + 30 * Math.sign(y1 - y0) - 3 * bow} ${b.x + WIDE + BACK} ${
              y1 - 30 * Math.sign(y1 - y0) + 3 * bow} ${b.x + WIDE} ${y1 + bow}`;

          return (
            <a href={href({ page: "events", q: q(e), args: { view: "talkers" } })} data-step
              aria-label={`${safe(e.from)} to ${safe(e.to)}, ${bytes(e.bytes)}`}>
              <path class="touch" d={d} />
              <path class="edge" d={d} stroke-width={1 + 6 * Math.sqrt(e.bytes / max)} />
              <title>{safe(e.from)} to {safe(e.to)}: {bytes(e.bytes)}</title>
            </a>
          );
        })}
        {[...ends.values()].map((end) => (
          <g class="end">
            <rect x={end.x} y={end.y} width={WIDE} height={TALL} rx="3" />
            <text x={end.x + 6} y={end.y + TALL / 2 + 4}>{cut(end.name)}</text>
            <title>{safe(end.name)}</title>
          </g>
        ))}
      </svg>
    </figure>
  );
}
