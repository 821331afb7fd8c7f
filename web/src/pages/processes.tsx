// SPDX-License-Identifier: GPL-2.0-or-later
/* Processes: which ran below which, what each did, and the states of the threads of one. */
import { h } from "preact";
import { useMemo } from "preact/hooks";
import type { Row, TracksAnswer, View, ViewAnswer } from "../api";
import { useAnswer, useFacts } from "../answer";
import { Failure } from "../failure";
import { both, equals } from "../filter";
import { exact, plural, safe, value } from "../format";
import { Tracks, TrackTable } from "../pic/tracks";
import { go, href, useUrl } from "../state";
import { Table, type Column } from "../table";
import { Inexact, InexactNote, pageOf, shareScale, ViewTable } from "../viewtable";

interface Node {
  row: Row;
  depth: number;
}

const TREE_ROWS = 1000;

/* Text of a key or note of a row, undefined if the view has no such field. */
function textOf(view: View, r: Row, field: string): string | undefined {
  const key = view.keys.findIndex((k) => k.field === field);

  return key >= 0 ? r.keys[key] : r.notes[view.notes.findIndex((k) => k.field === field)] ?? undefined;
}

function hasField(view: View, field: string): boolean {
  return [...view.keys, ...view.notes].some((k) => k.field === field);
}

/* Rows below their parent's, in the order of the answer. A parent that is not listed makes a root. */
function tree(view: View, rows: Row[]): Node[] {
  const on = (r: Row) => textOf(view, r, "host") ?? "";
  const pid = (r: Row) => `${textOf(view, r, "proc.pid") || ""} ${on(r)}`;
  const ppid = (r: Row) => `${textOf(view, r, "proc.ppid") || ""} ${on(r)}`;
  const here = new Set(rows.map(pid));
  const below = new Map<string, Row[]>();
  const ret: Node[] = [];
  const done = new Set<Row>();

  for (const r of rows) {
    const parent = here.has(ppid(r)) && ppid(r) !== pid(r) && !r.other ? ppid(r) : "";

    below.set(parent, [...(below.get(parent) || []), r]);
  }
  const add = (r: Row, depth: number) => {
    if (done.has(r))
      return;
    done.add(r);
    ret.push({ row: r, depth });
    (r.other ? [] : below.get(pid(r)) || []).forEach((child) => add(child, depth + 1));
  };

  (below.get("") || []).forEach((r) => add(r, 0));
  rows.forEach((r) => add(r, 0)); // a circle of numbers that were used again
  return ret;
}

function Tree({ view, chosen, host }: { view: View; chosen: string; host: string }) {
  const s = useUrl();
  const { data, error } = useAnswer<ViewAnswer>(`/view/${view.name}`, { top: TREE_ROWS });
  const pid = (n: Node) => textOf(view, n.row, "proc.pid") || "";
  const on = (n: Node) => (hasField(view, "host") ? textOf(view, n.row, "host") || "" : "");
  const nodes = useMemo(() => (data ? tree(view, data.rows) : []), [view, data]);

  if (!data)
    return <Failure error={error} />;
  const columns: Column<Node>[] = [
    { head: "PROCESS", main: true, cell: (n) => <span class={`tree d${Math.min(n.depth, 12)}`}>{
      n.row.other ? "(other)" : `${safe(textOf(view, n.row, "proc.name") || "")} ${pid(n)}`}
      <Inexact row={n.row} /></span> },
    ...(hasField(view, "host") ? [{ head: "HOST", cell: (n: Node) => safe(on(n)) }] : []),
    ...view.cols.map((c, i): Column<Node> => {
      const scale = shareScale(c.op, data.from, data.to);
      const v = (n: Node) => (n.row.values[i] === null || n.row.values[i] === undefined ? null :
        n.row.values[i]! * scale);
      const max = nodes.reduce((m, n) => Math.max(m, v(n) ?? 0), 0);

      return { head: c.head, numeric: true, title: `${c.op} of ${c.type}`, bar: (n) => (max ? (v(n) ?? 0) / max : 0),
        cell: (n) => value(v(n), c.unit), exact: (n) => exact(v(n), c.unit) };
    }),
  ];
  const q = (n: Node) => both(s.q, n.row.filter);

  return (
    <div><Failure error={error} />
      <Table caption={`processes, ${plural(data.events, "event")}`}
        columns={columns} rows={nodes} id={(n) => n.row.id} sort={view.sort}
        link={(n) => (n.row.other ? null : href({ args: { sel: pid(n), host: on(n) } }))}
        chosen={nodes.find((n) => pid(n) === chosen && on(n) === host)?.row.id}
        more={(n) => (n.row.filter === null ? null : ["events", ...view.drill].map((d) => (d === "events" ?
          <a href={href({ page: "events", q: q(n), args: { view: view.name } })}>events</a> :
          <a href={href({ ...pageOf(d), q: q(n) })}>{d}</a>)))} />
      <InexactNote rows={data.rows} what="~" /></div>
  );
}

function Threads({ pid, host }: { pid: string; host: string }) {
  const { data, error } = useAnswer<TracksAnswer>("/tracks", { pid, px: 1280 }, host && equals("host", host));

  return (
    <section class="threads" aria-label={`threads of ${pid}`}>
      <header><h2>threads of {safe(pid)}{host && ` on ${safe(host)}`}</h2>
        <button type="button" onClick={() => go({ args: { sel: null, host: null } })}>close</button></header>
      <Failure error={error} />
      {data && (data.threads.length ? <figure><Tracks data={data} label={`threads of ${pid}`} height={420} />
        <TrackTable data={data} /></figure> : <p class="empty">no sample or wait of this process in this range</p>)}
    </section>
  );
}

export function Processes() {
  const s = useUrl();
  const { views } = useFacts();
  const view = views.find((v) => hasField(v, "proc.ppid") && hasField(v, "proc.pid"));
  const flat = views.find((v) => v.name === "processes");
  const chosen = /^\d+$/.test(s.args.sel || "") ? s.args.sel : "", host = s.args.host || "";

  return (
    <div class="one">
      {chosen && <Threads pid={chosen} host={host} key={`${chosen} ${host}`} />}
      {view ? <Tree view={view} chosen={chosen} host={host} /> : flat && <ViewTable name="processes"
        link={(r) => (r.other ? null : href({ args: { sel: textOf(flat, r, "proc.pid") || null } }))} />}
    </div>
  );
}
