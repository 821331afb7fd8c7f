// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events as rows of one height, of which only those in view are in the document. Live it follows the newest;
 * scrolling up stops the clock. Browsers cap the height of an element, so a long list is scrolled by a scaled
 * height.
 */
import { h } from "preact";
import { useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { ApiError, type EventRow, type Words } from "./api";
import { common, useFacts } from "./answer";
import { waitForAnswer } from "./busy";
import { Failure } from "./failure";
import { allDigits, plural, safe } from "./format";
import { onBeat } from "./live";
import { stop } from "./rangebox";
import { Rows } from "./rows";
import { go, href, isLive, useUrl } from "./state";
import { clock, digitsFor } from "./time";

const ROW_PX = 22;
const HEIGHT_MAX = 8000000;
const PAGE_ROWS = 2000;
const NEAR_ROWS = 200;

interface Props {
  view?: string;
  clause?: string | null;
  height?: number; // pixels; else what the window leaves
  label: string;
}

/* Rows for the filter and range; a live list that is stopped keeps what it shows. */
function useRows(words: Words, live: boolean, moved: (n: number) => void) {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const [error, setError] = useState<ApiError | null>(null);
  const rows = useRef<Rows | null>(null);
  const was = useRef({ live: false, rest: "" });
  const rest = JSON.stringify({ ...words, from: "", to: "" });

  function fail(e: unknown) {
    if ((e as Error).name !== "AbortError")
      setError(e instanceof ApiError ? e : new ApiError(0, (e as Error).message));
  }

  useEffect(() => {
    const stopped = was.current.live && !live && was.current.rest === rest && rows.current?.rows;

    was.current = { live, rest };
    if (stopped) {
      rows.current!.hold(words);
      return;
    }
    rows.current?.stop();
    const mine = new Rows(words, (n) => {
      if (rows.current !== mine)
        return;
      moved(n);
      setError(null);
      redraw(0);
    });

    rows.current = mine;
    redraw(0);
    mine.load(live ? "end" : "start", PAGE_ROWS).catch(fail).finally(waitForAnswer());
  }, [JSON.stringify(words), live]);
  useEffect(() => () => rows.current?.stop(), []);
  useEffect(() => (live ? onBeat(() => rows.current?.follow().catch(fail)) : undefined), [live]);
  return { rows: rows.current, error, fail };
}

/* Tab enters the list once; arrows move between its rows, a few more of which than those in view are there. */
function moveRow(list: HTMLElement, down: boolean): void {
  const links = [...list.querySelectorAll<HTMLElement>("a[data-step]")];
  const at = links.indexOf(document.activeElement as HTMLElement);
  const top = list.getBoundingClientRect().top;
  const next = at < 0 ? links.find((a) => a.getBoundingClientRect().top >= top) : links[at + (down ? 1 : -1)];

  next?.focus();
}

function RowLine({ row, index, chosen, digits, hosts }: { row: EventRow; index: number; chosen: boolean;
  digits: number; hosts: boolean }) {
  const who = (row.process ? safe(row.process) : "") + (row.pid ? `[${row.pid}]` : "");
  const line = safe(row.text.split("\n", 1)[0].replace(/^\d\d:\d\d:\d\d\.\d+ /, ""));
  const text = line.startsWith(`${who} `) ? line.slice(who.length + 1) : line;

  return (
    <div role="row" aria-rowindex={index + 1} class={`event${chosen ? " chosen" : ""}${hosts ? " hosts" : ""}`}
      aria-current={chosen ? "true" : undefined}
      style={{ height: `${ROW_PX}px` }} onClick={() => go({ args: { sel: String(row.seq) } }, true)}>
      <span role="cell"><a data-step tabIndex={-1} href={href({ args: { sel: String(row.seq) } })}>{
        clock(BigInt(row.ts), digits)}</a></span>
      {hosts && <span role="cell" class="host">{safe(row.host || "")}</span>}
      <span role="cell" class="type">{safe(row.type)}</span>
      <span role="cell" class="who">{who}</span>
      <span role="cell" class="text">{text}</span>
    </div>
  );
}

export function EventList({ view, clause, height, label }: Props) {
  const s = useUrl();
  const { meta } = useFacts();
  const live = isLive(s, meta.live);
  const place = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const follow = useRef(true);
  const words = useMemo(() => ({ ...common(s, meta.live, clause), view: view || "" }),
    [s.q, s.from, s.to, clause, view, meta.live]);
  const { rows, error, fail } = useRows(words, live, (n) => {
    if (n && place.current && !follow.current)
      place.current.scrollTop += n * ROW_PX * scaleOf();
  });
  const total = rows?.rows ?? 0;
  const full = total * ROW_PX;

  function scaleOf(): number {
    return full > HEIGHT_MAX ? HEIGHT_MAX / full : 1;
  }
  const scale = scaleOf();
  const seen = place.current?.clientHeight ?? 600;
  const virtual = scale < 1 ? (top / Math.max(1, HEIGHT_MAX - seen)) * (full - seen) : top;
  const from = Math.max(0, Math.floor(virtual / ROW_PX) - 5);
  const shown: EventRow[] = [];

  for (let i = from; i < Math.min(total, from + Math.ceil(seen / ROW_PX) + 10); i++)
    shown.push(rows!.get(i)!);

  useEffect(() => {
    if (live && follow.current && place.current)
      place.current.scrollTop = place.current.scrollHeight;
  });
  useEffect(() => {
    if (!rows || !total)
      return;
    if (!live && !rows.atEnd && from + seen / ROW_PX > total - NEAR_ROWS)
      rows.load("after", PAGE_ROWS).catch(fail);
    else if (!rows.atStart && from < NEAR_ROWS)
      rows.load("before", PAGE_ROWS).catch(fail);
  });

  function scrolled() {
    const at = place.current;

    if (!at)
      return; // the event of a list that has left the page meanwhile
    const end = at.scrollHeight - at.clientHeight - at.scrollTop < ROW_PX * 2;

    if (live && follow.current && !end && at.scrollTop < top) {
      follow.current = false;
      stop();
    } else if (end) {
      follow.current = true;
    }
    setTop(at.scrollTop);
  }
  const digits = digitsFor(1e6);
  const start = scale < 1 ? top - (virtual - from * ROW_PX) : from * ROW_PX;

  return (
    <section aria-label={label}>
      <Failure error={error} />
      <p class="count">{rows?.loaded ? plural(rows.n, "event") : "..."}{rows && rows.n > total ?
        `, ${allDigits(total)} here` : ""}{rows?.lost ? <b class="bad">, {rows.lost} lost</b> : ""}</p>
      <div class="events" role="table" aria-label={label} aria-rowcount={rows?.n ?? -1} ref={place} tabIndex={0}
        onScroll={scrolled} onKeyDown={(e) => {
          if (e.key === "ArrowDown" || e.key === "ArrowUp") {
            moveRow(e.currentTarget, e.key === "ArrowDown");
            e.preventDefault();
          }
        }} style={height ? { height: `${height}px` } : undefined}>
        <div role="rowgroup" style={{ height: `${Math.min(full, HEIGHT_MAX)}px` }}>
          <div class="window" role="presentation" style={{ transform: `translateY(${Math.max(0, start)}px)` }}>
            {shown.map((row, i) => <RowLine key={row.seq} row={row} index={from + i} digits={digits}
              hosts={meta.hosts.length > 1}
              chosen={s.args.sel === String(row.seq)} />)}
          </div>
        </div>
      </div>
      {rows?.loaded && !total && !error && <p class="empty">no event of this filter in this range</p>}
    </section>
  );
}
