// SPDX-License-Identifier: GPL-2.0-or-later
/* One call: its sides and children below each other, the segments that add up to its latency, and what each was. */
import { h } from "preact";
import { useCallback, useMemo, useState } from "preact/hooks";
import type { Segment, TraceAnswer } from "./api";
import { useRequest } from "./answer";
import { Failure } from "./failure";
import { both, equals } from "./filter";
import { duration, percent, plural, safe, value } from "./format";
import { useHosts } from "./hosts";
import { Canvas, type Point } from "./pic/canvas";
import { text, type Pic } from "./pic/paint";
import { stateColour } from "./pic/tracks";
import { href, rangeChange } from "./state";
import { Sides, useSides } from "./sides";
import { stamp, tickStep } from "./time";

const ROW_PX = 34;

interface Share {
  what: string;
  ns: number;
  segments: number;
  event?: number;
}

export function label(t: TraceAnswer, s: Segment): string {
  const who = t.spans[s.span]?.process || "?";

  return `${who}: ${s.cause === "wait" || s.cause === "idle" ? "" : s.cause}${
    s.cause === "idle" ? "idle" : ""}${s.detail ? ` ${s.detail}` : ""}`.replace(/: +/, ": ");
}

export function shares(t: TraceAnswer): Share[] {
  const all = new Map<string, Share & { longest: number }>();

  for (const s of t.segments) {
    const what = label(t, s), ns = s.to - s.from;
    const one = all.get(what) || { what, ns: 0, segments: 0, longest: -1 };

    one.ns += ns;
    one.segments++;
    if (ns > one.longest) {
      one.longest = ns;
      one.event = s.event;
    }
    all.set(what, one);
  }
  return [...all.values()].sort((a, b) => b.ns - a.ns);
}

function depths(t: TraceAnswer): number[] {
  const ret: number[] = [];

  t.spans.forEach((s, i) => {
    ret[i] = s.parent === undefined ? 0 : (ret[s.parent] ?? 0) + 1;
  });
  return ret;
}

function Picture({ t, chosen, choose }: { t: TraceAnswer; chosen: number; choose: (i: number) => void }) {
  const [at, setAt] = useState(-1);
  const height = t.spans.length * ROW_PX + 22;
  const depth = useMemo(() => depths(t), [t]);

  const draw = useCallback((p: Pic) => {
    const x = (ns: number) => ((ns - t.from) / Math.max(1, t.latency)) * p.width;
    const step = tickStep(t.latency, Math.max(2, Math.floor(p.width / 90)));

    t.spans.forEach((s, i) => {
      const y = i * ROW_PX;

      text(p, `${" ".repeat(depth[i] * 2)}${s.process}[${s.pid}] ${s.side} ${s.method}`, 2, y + 8,
        { max: p.width - 100 });
      text(p, duration(s.to - s.from), p.width - 2, y + 8, { align: "right", colour: s.error ? "bad" : "muted" });
      p.ctx.fillStyle = p.colour.line;
      p.ctx.fillRect(x(s.from), y + 22, Math.max(1, x(s.to) - x(s.from)), 2);
    });
    t.segments.forEach((s, i) => {
      const left = x(s.from), w = Math.max(1, x(s.to) - left), y = s.span * ROW_PX + 16;

      p.ctx.fillStyle = p.colour[stateColour(s.state)];
      p.ctx.fillRect(left, y, w, 14);
      if (i === at || i === chosen) {
        p.ctx.strokeStyle = p.colour.fg;
        p.ctx.lineWidth = 2;
        p.ctx.strokeRect(left, y - 1, Math.max(2, w), 16);
      }
    });
    const low = t.spans.length * ROW_PX + 2;

    p.ctx.fillStyle = p.colour.line;
    p.ctx.fillRect(0, low, p.width, 1);
    for (let ns = 0; ns <= t.latency; ns += step) {
      const left = (ns / Math.max(1, t.latency)) * p.width, said = ns ? duration(ns) : "0";

      p.ctx.fillStyle = p.colour.line;
      p.ctx.fillRect(left, low, 1, 4);
      if (left + said.length * 8 < p.width)
        text(p, said, left + (ns ? -said.length * 3.6 : 0), low + 12, { colour: "muted" });
    }
  }, [t, at, chosen, depth]);

  function find(pt: Point): number {
    const ns = t.from + (pt.x / pt.width) * t.latency;

    return t.segments.findIndex((s) => s.from <= ns && ns < s.to);
  }

  const shown = t.segments[at >= 0 ? at : chosen];

  return (
    <Canvas label={`call ${safe(t.method)}, ${duration(t.latency)}, ${
      plural(t.spans.length, "side")}; the table below adds up `
      + "its time"} height={height} draw={draw} move={(pt) => setAt(pt ? find(pt) : -1)}
      click={(pt) => choose(find(pt))}
      keys={(k) => {
        const by = { ArrowRight: 1, ".": 1, ArrowLeft: -1, ",": -1 }[k];

        if (by === undefined)
          return false;
        choose(Math.min(t.segments.length - 1, Math.max(0, chosen + by)));
        return true;
      }}>
      <p class="readout">{shown ? `${duration(shown.from - t.from)}: ${safe(label(t, shown))} for ${
        duration(shown.to - shown.from)}${shown.thread ? `, thread ${shown.thread}` : ""}${shown.woken_by ?
        `, woken by ${safe(shown.woken_by)}` : ""} (known by ${shown.known_by})` :
        "arrows and . , move through the segments"}</p>
    </Canvas>
  );
}

function what(t: TraceAnswer, i: number): string {
  const e = t.events[i];

  return [e.name || e.type, e.dir, e.reason, e.file, e.fd === undefined ? "" : `fd ${e.fd}`,
    e.bytes ? `${e.bytes} B` :
    e.len ? `${e.len} B` : "", e.ret !== undefined && e.ret < 0 ? `= ${e.ret}` : "",
    e.queued ? `${duration(e.queued)} in the socket` : ""].filter(Boolean).join(" ");
}

function Links({ t, host }: { t: TraceAnswer; host?: string }) {
  if (t.time_ns === undefined)
    return null;
  const from = BigInt(t.time_ns), range = rangeChange(from, from + BigInt(t.latency) + 1n);
  const pids = [...new Set(t.spans.map((s) => s.pid))];
  const q = both(host && equals("host", host),
    pids.length === 1 ? equals("proc.pid", String(pids[0])) : `proc.pid in (${pids.join(", ")})`);

  return (
    <ul class="links">
      <li><a data-step href={href({ page: "events", ...range, q, args: {} })}>
        events of its processes meanwhile</a></li>
      <li><a data-step href={href({ page: "cpu", ...range, q, args: { mode: "both" } })}>stacks</a></li>
      <li><a data-step href={href({ page: "drops", ...range, q: "", args: {} })}>drops meanwhile</a></li>
      <li><a data-step href={href({ page: "calls", q: both(equals("rpc.name", t.method)), args: {} })}>
        other calls of
        the operation</a></li>
    </ul>
  );
}

/* Times of the answer are strings of ns since boot; the page counts them from the beginning of the call. */
function fromBegin(t: TraceAnswer<string>): TraceAnswer {
  const begin = BigInt(t.from);
  const since = (at: string) => Number(BigInt(at) - begin);

  return { ...t, from: 0,
    spans: t.spans.map((s) => ({ ...s, from: since(s.from), to: since(s.to) })),
    segments: t.segments.map((s) => ({ ...s, from: since(s.from), to: since(s.to) })),
    events: t.events.map((e) => ({ ...e, from: since(e.from), to: since(e.to) })) };
}

export function Waterfall({ call, seq }: { call: string; seq?: string }) {
  const { data, error } = useRequest<TraceAnswer<string>>(`/trace?call=${encodeURIComponent(call)}`, false);
  const t = useMemo(() => data && fromBegin(data), [data]);
  const sides = useSides(call), hosts = useHosts();
  const [chosen, choose] = useState(-1);
  const sums = useMemo(() => (t ? shares(t) : []), [t]);

  if (!t)
    return error ? <Failure error={error} /> : <p class="empty">...</p>;
  return (
    <div>
      <p><b>{safe(t.method)}</b> {duration(t.latency)} {safe(t.spans[0]?.status || "")} <small>{t.call}</small></p>
      {t.time_ns !== undefined && <p>{stamp(BigInt(t.time_ns))}{seq ? `, event ${seq}` : ""}</p>}
      <Picture t={t} chosen={chosen} choose={choose} />
      <Sides call={call} answer={sides} />
      <Links t={t} host={hosts.length ? sides.data?.sides.find((s) => s.call === call)?.host : undefined} />
      {t.spans.some((s) => s.joined_by === "time") && <p class="empty">a side joined by time alone may serve another
        call</p>}
      {t.evicted && <p class="bad">events of this call are no longer kept: its picture is incomplete</p>}
      <table><caption>time by cause</caption>
        <thead><tr><th scope="col">cause</th><th scope="col" class="num">time</th>
        <th scope="col" class="num">share</th><th scope="col">longest</th></tr></thead>
        <tbody>{sums.map((s) => <tr><th scope="row">{safe(s.what)}</th><td class="num">{duration(s.ns)}</td>
          <td class="num"><i class="bar" style={{ width: `${(100 * s.ns) / Math.max(1, t.latency)}%` }} />
            <span>{percent((100 * s.ns) / Math.max(1, t.latency))}</span></td>
          <td>{s.event ? <a href={href({ page: "events", q: "", args: { sel: String(s.event) } })}>
            event {s.event}</a> :
            ""}</td></tr>)}
        <tr class="foot"><th scope="row">sum</th>
          <td class="num">{value(sums.reduce((n, s) => n + s.ns, 0), "ns")}</td>
          <td class="num">{percent((100 * sums.reduce((n, s) => n + s.ns, 0)) / Math.max(1, t.latency))}</td><td />
        </tr></tbody></table>
      <table><caption>{plural(t.events.length, "event")}</caption><tbody>
        {t.events.map((e, i) => <tr><td class="num">{duration(e.from - t.from)}</td>
          <td>{safe(t.spans[e.span]?.process || "")}</td><td>{safe(what(t, i))}</td>
          <td class="num">{e.to > e.from ? duration(e.to - e.from) : ""}</td></tr>)}
      </tbody></table>
    </div>
  );
}
