// SPDX-License-Identifier: GPL-2.0-or-later
/* A view of the server as a table. Each row links to the events that it counts: the figures are those of the list. */
import { h, Fragment } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Meta, Row, View, ViewAnswer } from "./api";
import { Failure } from "./failure";
import { exact, plural, safe, value } from "./format";
import { both } from "./filter";
import { go, href, useUrl } from "./state";
import { Table, type Column } from "./table";
import { useAnswer, useFacts, useView } from "./answer";

/* Which page shows a view; others open in the list of all views. */
const PAGE_OF: Record<string, string> = {
  processes: "processes", syscalls: "syscalls", calls: "calls", drops: "drops", talkers: "flows", waits: "cpu",
};

export function pageOf(view: string): { page: string; args?: Record<string, string> } {
  return PAGE_OF[view] ? { page: PAGE_OF[view] } : { page: "views", args: { view } };
}

/* A share is ns of the range: as percent of one CPU. */
export function shareScale(op: string, from: string, to: string): number {
  return op === "share" ? 100 / Math.max(1, Number(BigInt(to) - BigInt(from))) : 1;
}

const PROBES_OF: Record<string, string[]> = { rpc: ["gohttp2", "call"] };

/* Why a table is empty: the input may have no events that the view counts; undefined if it has, or may have. */
function missing(view: View, meta: Meta): string | undefined {
  const types = [...new Set(view.cols.map((c) => c.type))];
  const of = (type: string) => PROBES_OF[type.split(".")[0]] || [type.split(".")[0]];
  const probes = types.flatMap(of).map((name) => meta.probes.find((p) => p.name === name));

  if (meta.reading || probes.some((p) => !p || p.running))
    return undefined;
  return meta.live ? `no probe runs for ${types.join(", ")}` : `${safe(meta.input)} has no ${types.join(", ")}`;
}

const COLUMNS = 10; // of the highest priority, until all are asked for

function columnsOf(view: View, answer: ViewAnswer, all: boolean, sort: string): Column<Row>[] {
  const keys = view.keys.map((k, i): Column<Row> => ({
    head: k.head, title: k.field, main: i === view.keys.length - 1 || k.field === "proc.name",
    cell: (r) => (r.other ? (i === view.keys.length - 1 ? r.keys[i] || "(other)" : "") :
      <>{safe(r.keys[i] ?? "")}{i === 0 && <Inexact row={r} />}</>),
  }));
  const notes = view.notes.map((k, i): Column<Row> => ({
    head: k.head, title: k.field, cell: (r) => safe(r.notes[i] ?? ""),
  }));
  const least = all ? 0 : [...view.cols].sort((a, b) => b.priority - a.priority)[COLUMNS - 1]?.priority ?? 0;
  const shown = view.cols.map((c, i) => ({ c, i })).filter(({ c }) => c.priority >= least || c.head === sort);
  const values = shown.map(({ c, i }): Column<Row> => {
    const scale = shareScale(c.op, answer.from, answer.to);
    const max = answer.rows.reduce((m, r) => Math.max(m, r.values[i] ?? 0), 0);

    return {
      head: c.head, numeric: true, title: `${c.op} of ${c.type}`,
      bar: (r) => (max ? (r.values[i] ?? 0) / max : 0),
      exact: (r) => exact(r.values[i] === null ? null : r.values[i]! * scale, c.unit),
      cell: (r) => value(r.values[i] === null || r.values[i] === undefined ? null : r.values[i]! * scale, c.unit),
    };
  });

  return [...keys, ...(all ? notes : []), ...values];
}

/* Marks a row whose filter also selects events of other rows: the list behind it is longer than its figures. */
export function Inexact({ row }: { row: Row }) {
  return row.exact === false ? <abbr title="its list also has events of other rows">{" ~"}</abbr> : null;
}

export function InexactNote({ rows, what }: { rows: Row[]; what: string }) {
  return rows.some((r) => r.exact === false) ?
    <p class="empty inexact">{what}: the list behind it also has events of other rows</p> : null;
}

function restRow(view: View, answer: ViewAnswer): Row[] {
  const { rest } = answer;

  if (!rest?.rows)
    return [];
  const last = view.keys.length - 1;

  return [{ id: "rest", keys: view.keys.map((_k, i) => (i === last ? `${plural(rest.rows, "further row")}` : "")),
    notes: [], values: rest.values, events: rest.events, other: false, filter: null }];
}

/* The words of a table's request: who asks the same, shares its answer while live. */
export function useTableWords(view: View | undefined, top: number): { sort: string; reverse: number | string;
  top: number } {
  const { sort, reverse } = useUrl().args;
  const known = view && [...view.keys, ...view.cols].some((c) => c.head === sort);

  return { sort: known ? sort : view?.sort || "", reverse: reverse === "1" ? 1 : "", top };
}

interface Props {
  name: string;
  clause?: string | null;
  top?: number;
  chosen?: string;
  onChoose?: (r: Row) => void;
  drill?: boolean; // links to the views that a row opens
  caption?: string;
  link?: (r: Row) => string | null;
}

export function ViewTable(p: Props) {
  const view = useView(p.name);
  const { meta } = useFacts();
  const s = useUrl();
  const words = useTableWords(view, p.top ?? 100);
  const { sort } = words, reverse = words.reverse === 1;
  const [all, setAll] = useState(false);
  const { data, error } = useAnswer<ViewAnswer>(view ? `/view/${p.name}` : null, words, p.clause);
  const columns = useMemo(() => (view && data ? columnsOf(view, data, all, sort) : []),
    [view, data, all, sort]);

  if (!view)
    return <p class="empty">this sonde has no view {p.name}</p>;
  if (!data)
    return <Failure error={error} />;

  const q = (r: Row) => both(s.q, p.clause, r.filter);

  return (
    <section aria-label={view.title}>
      <Failure error={error} />
      {(view.cols.length > COLUMNS || !!view.notes.length) && <p class="controls"><label><input type="checkbox"
        checked={all} onChange={(e) => setAll(e.currentTarget.checked)} /> all columns</label></p>}
      <Table caption={p.caption || `${view.title}: ${plural(data.events, "event")}` +
        `${data.groups > data.rows.length ? `, ${data.rows.length} of ${data.groups} rows` : ""}`}
        columns={columns} rows={data.rows} id={(r) => r.id} empty={missing(view, meta)}
        foot={restRow(view, data)} sort={sort}
        reverse={reverse} chosen={p.chosen}
        onChoose={p.onChoose && ((id) => p.onChoose!(data.rows.find((r) => r.id === id)!))}
        onSort={(head) => go({ args: { sort: head, reverse: head === sort && !reverse ? "1" : null } })}
        link={p.link || ((r) => (r.filter === null ? null :
          href({ page: "events", q: q(r), args: { view: p.name } })))}
        more={p.drill === false ? undefined : (r) => (r.filter === null ? null : view.drill.map((d) => (
          <a href={href({ ...pageOf(d), q: q(r) })}>{d}</a>
        )))} />
      <InexactNote rows={data.rows} what="~" />
    </section>
  );
}
