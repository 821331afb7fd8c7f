// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tables: sorted by their headings, each row a link to what it counts. On a phone the first and the sorted column
 * stay and the others open below the row.
 */
import { h, Fragment, type ComponentChildren } from "preact";
import { useState } from "preact/hooks";

export interface Column<R> {
  head: string;
  title?: string;
  numeric?: boolean;
  main?: boolean; // stays on a phone
  bar?: (r: R) => number; // 0 to 1, behind the figure
  exact?: (r: R) => string;
  cell: (r: R) => ComponentChildren;
}

interface Props<R> {
  caption: string;
  columns: Column<R>[];
  rows: R[];
  id: (r: R) => string;
  link?: (r: R) => string | null; // of the first cell
  more?: (r: R) => ComponentChildren; // links of the row, in the last cell
  foot?: R[]; // rows that add up what is not shown
  sort?: string;
  reverse?: boolean;
  onSort?: (head: string) => void;
  chosen?: string;
  onChoose?: (id: string) => void;
  empty?: string;
}

function Cells<R>({ p, row, open, toggle }: { p: Props<R>; row: R; open: boolean; toggle: () => void }) {
  return (
    <>
      {p.columns.map((c, i) => {
        const to = i === 0 && p.link ? p.link(row) : null;
        const inside = c.cell(row), none = inside === "0" || inside === "0B";

        return (
          <td class={`${c.numeric ? "num" : ""} ${none ? "none" : ""} ${c.main ? "main" : ""} ${
            c.main || i === 0 || c.head === p.sort ? "" : "low"}`}
            title={c.exact?.(row)}>
            {c.bar && <i class="bar" style={{ width: `${Math.min(100, c.bar(row) * 100).toFixed(1)}%` }} />}
            {to ? <a href={to} data-step>{inside}</a> : <span>{inside}</span>}
          </td>
        );
      })}
      {p.more && <td class="low links">{p.more(row) && <details class="menu"><summary>open</summary>{p.more(row)}
      </details>}</td>}
      <td class="opener"><button type="button" aria-expanded={open} aria-label="all columns of this row"
        onClick={toggle}>{open ? "-" : "+"}</button></td>
    </>
  );
}

function Details<R>({ p, row }: { p: Props<R>; row: R }) {
  return (
    <tr class="details"><td colSpan={p.columns.length + 2}>
      <dl>{p.columns.map((c) => <div><dt>{c.head}</dt><dd>{c.cell(row)}</dd></div>)}</dl>
      {p.more?.(row)}
    </td></tr>
  );
}

export function Table<R>(p: Props<R>) {
  const [open, setOpen] = useState("");

  return (
    <div class="scroll" tabIndex={-1}>
      <table>
        <caption>{p.caption}</caption>
        <thead><tr>
          {p.columns.map((c, i) => {
            const on = c.head === p.sort;

            return (
              <th scope="col" title={c.title}
                class={`${c.numeric ? "num" : ""} ${c.main || i === 0 || on ? "" : "low"}`}
                aria-sort={on ? (p.reverse ? "ascending" : "descending") : undefined}>
                {p.onSort ? <button type="button" onClick={() => p.onSort!(c.head)}>{c.head}
                  {on ? (p.reverse ? " \u25b4" : " \u25be") : ""}</button> : c.head}
              </th>
            );
          })}
          {p.more && <th scope="col" class="low"><span class="sr">views of the row</span></th>}
          <th class="opener" scope="col"><span class="sr">details</span></th>
        </tr></thead>
        <tbody>
          {p.rows.map((row) => {
            const id = p.id(row);
            const shown = open === id;

            return h(Fragment, { key: id },
              <>
                <tr class={p.chosen === id ? "chosen" : undefined} aria-current={p.chosen === id ? "true" : undefined}
                  onClick={p.onChoose && (() => p.onChoose!(id))}>
                  <Cells p={p} row={row} open={shown} toggle={() => setOpen(shown ? "" : id)} />
                </tr>
                {shown && <Details p={p} row={row} />}
              </>);
          })}
          {p.foot?.map((row) => <tr class="foot" key={p.id(row)}>
            <Cells p={{ ...p, link: undefined, more: p.more && (() => null) }} row={row}
              open={false} toggle={() => setOpen("")} /></tr>)}
        </tbody>
      </table>
      {!p.rows.length && <p class="empty">{p.empty || "nothing in this range"}</p>}
    </div>
  );
}
