// SPDX-License-Identifier: GPL-2.0-or-later
/* Overview: what the host did on one axis, its processes, and what changed against the time before. */
import { h } from "preact";
import type { ViewAnswer, View, Words } from "../api";
import { address } from "../api";
import { LIVE_DEFAULT, useAnswer, useFacts, useRequest, useShown, useView } from "../answer";
import { both } from "../filter";
import { safe, value } from "../format";
import { absolute, href, isLive, useUrl, type Change } from "../state";
import { parseBack } from "../time";
import { ViewSeries } from "../viewseries";
import { useTableWords, ViewTable } from "../viewtable";

interface Difference {
  what: string;
  now: number;
  old: number;
  said: string;
  to: Change;
}

const LABELS = { cpu_ns: "CPU", wait_ns: "waits for a CPU", drops: "drops", call_errors: "failed calls",
  call_p99_ns: "calls, p99", errors: "failed system calls" };
const MIN_RATIO = 1.5;
const TOP = 30;

/* The range before this one, as parameters: relative while live, so that it moves along. */
function useBefore(): Words | null {
  const s = useUrl();
  const { meta } = useFacts();
  const now = useShown();
  const r = absolute(s);
  const back = parseBack(s.from || LIVE_DEFAULT);

  if (isLive(s, meta.live) && back !== null)
    return { from: `-${back * 2n}ns`, to: `-${back}ns` };
  const from = r ? r.from : now.from ? BigInt(now.from) : null, to = r ? r.to : now.to ? BigInt(now.to) : null;

  return from !== null && to !== null && from > to - from ?
    { from: String(from - (to - from)), to: String(from) } : null;
}

function usePair(name: string, top: number): [View | undefined, ViewAnswer | null, ViewAnswer | null] {
  const s = useUrl();
  const { meta } = useFacts();
  const view = useView(name), before = useBefore();
  const now = useAnswer<ViewAnswer>(view ? `/view/${name}` : null, useTableWords(view, top)).data;
  const old = useRequest<ViewAnswer>(view && before ? address(`/view/${name}`, { q: s.q, ...before, top }) : null,
    isLive(s, meta.live)).data;

  return [view, now, old];
}

/* Rows and columns that differ most. A range that begins before what is kept has nothing to compare with. */
export function differences(view: View, now: ViewAnswer, old: ViewAnswer, q: string): Difference[] {
  const before = new Map(old.rows.map((r) => [r.id, r]));
  const ret: Difference[] = [];

  if (!old.events || (old.first && BigInt(old.first) > BigInt(old.from)))
    return ret;
  for (const r of now.rows) {
    if (r.filter === null)
      continue;
    view.cols.forEach((c, i) => {
      const a = r.values[i] ?? 0, b = before.get(r.id)?.values[i] ?? 0;
      const ratio = Math.max(a, b) / Math.max(1, Math.min(a, b));

      if (Math.max(a, b) < 5 || ratio < MIN_RATIO)
        return;
      ret.push({
        what: `${r.keys.filter(Boolean).join(" ")} ${c.head}`, now: a, old: b,
        said: `${value(b, c.unit === "percent" ? "ns" : c.unit)} to ${
          value(a, c.unit === "percent" ? "ns" : c.unit)}`,
        to: { page: "events", q: both(q, r.filter), args: { view: view.name } },
      });
    });
  }
  return ret;
}

function Changes() {
  const s = useUrl();
  const processes = usePair("processes", TOP), drops = usePair("drops", TOP);
  const all = [processes, drops].flatMap(([view, now, old]) => (view && now && old ?
    differences(view, now, old, s.q) :
    [])).sort((a, b) => Math.max(b.now, b.old) / Math.max(1, Math.min(b.now, b.old)) -
      Math.max(a.now, a.old) / Math.max(1, Math.min(a.now, a.old))).slice(0, 12);

  return (
    <aside class="box small" aria-label="changed in this range"><header>
      <h2>changed against the time before</h2></header>
      {all.length ? <ul class="links">{all.map((d) => <li><a data-step href={href(d.to)}>{safe(d.what)}: {d.said}</a>
      </li>)}</ul> : <p class="empty">nothing, or nothing is kept of the time before</p>}
    </aside>
  );
}

export function Overview() {
  const host = useView("host"); // all events in one row; else the sums over processes

  return (
    <div class="two">
      <div>
        <ViewSeries name={host ? "host" : "processes"} labels={LABELS}
          columns={["cpu_ns", "wait_ns", "drops", "errors", "call_errors", "call_p99_ns"]} />
        <ViewTable name="processes" top={TOP} />
      </div>
      <Changes />
    </div>
  );
}
