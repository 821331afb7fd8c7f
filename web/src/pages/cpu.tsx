// SPDX-License-Identifier: GPL-2.0-or-later
/* CPU: where time goes on the CPU, what is waited for off it, against another range. */
import { h } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { FlameAnswer, Frame } from "../api";
import { useAnswer, useFacts } from "../answer";
import { Failure } from "../failure";
import { both, equals } from "../filter";
import { allDigits, percent, plural, safe, value } from "../format";
import { useHosts } from "../hosts";
import { Flame } from "../pic/flame";
import { rangeNow, stop } from "../rangebox";
import { go, href, useUrl } from "../state";
import { Table, type Column } from "../table";
import { parseMoment } from "../time";
import { ViewSeries } from "../viewseries";
import { ViewTable } from "../viewtable";

type Fn = FlameAnswer["functions"][number];

const MODES = [["on", "on CPU"], ["off", "off CPU"], ["both", "both"]];
const BY = [["none", "nothing"], ["process", "process"], ["container", "container"], ["operation", "operation"]];
const SHAPES = [["flame", "flame"], ["icicle", "icicle"], ["sandwich", "sandwich"], ["table", "table"]];
const TALL_MAX = 700;
const SETTLE_MS = 150;

function Choice({ name, label, list, fallback }: {
  name: string; label: string; list: string[][]; fallback: string }) {
  const s = useUrl();

  return <label>{label} <select value={s.args[name] || fallback} id={`choice-${name}`}
    onChange={(e) => go({ args: { [name]: e.currentTarget.value === fallback ? null : e.currentTarget.value } })}>
    {list.map(([v, said]) => <option value={v}>{said}</option>)}</select></label>;
}

/* The range to compare with: the one before of equal length, or two times. */
function Against() {
  const s = useUrl();
  const [text, setText] = useState("");
  const [bad, setBad] = useState(false);

  function before() {
    const r = rangeNow();

    if (!r)
      return;
    stop();
    go({ args: { against: `${r.from - (r.to - r.from)}..${r.from}` } });
  }

  function apply(e: Event) {
    const r = rangeNow();
    const [from, to] = text.split(/\s*\.\.\s*|\s+-\s+/).map((t) => (r ? parseMoment(t, r.from, r.to) : null));

    e.preventDefault();
    setBad(!from || !to || to <= from);
    if (from && to && to > from)
      go({ args: { against: `${from}..${to}` } });
  }

  if (s.args.against)
    return <span>against another range <button type="button" onClick={() => go({ args: { against: null } })}>
      drop</button></span>;
  return (
    <form onSubmit={apply}>against <button type="button" onClick={before}>the range before</button>{" "}
      <input aria-label="range to compare with" placeholder="14:02:30 - 14:03:30" value={text} aria-invalid={bad}
        onInput={(e) => setText(e.currentTarget.value)} /></form>
  );
}

function Functions({ data, chosen, find }: { data: FlameAnswer; chosen: string; find: string }) {
  const s = useUrl();
  const [sort, setSort] = useState<"self" | "total">("self");
  const rows = useMemo(() => {
    const word = find.toLowerCase();

    return data.functions.filter((f) => f.name.toLowerCase().includes(word)).sort((a, b) => b[sort] - a[sort])
      .slice(0, 200);
  }, [data, sort, find]);
  const share = (v: number) => (100 * v) / Math.max(1, data.total);
  const columns: Column<Fn>[] = [
    { head: "function", main: true, cell: (f) => safe(f.name) },
    ...(["self", "total"] as const).map((part): Column<Fn> => ({
      head: part, numeric: true, bar: (f) => f[part] / Math.max(1, data.total), cell: (f) => percent(share(f[part])),
      exact: (f) => `${allDigits(f[part])} ${data.unit}`,
    })),
  ];

  return <Table caption={`functions: ${plural(rows.length, "row")} of ${
    value(data.total, data.unit)}`} columns={columns}
    rows={rows} id={(f) => f.name} sort={sort} onSort={(head) => head !== "function" && setSort(head as "self")}
    chosen={chosen} link={(f) => href({ args: { ...s.args, sel: f.name } })}
    more={(f) => <a href={href({ args: { focus: f.name, shape: "sandwich" } })}>callers and callees</a>} />;
}

const TYPES: Record<string, string> = { on: "evt.type=cpu.sample", off: "evt.type=cpu.block",
  both: "evt.type in (cpu.sample, cpu.block)" };

/* What a frame leads to. A name of a process or of an operation narrows the filter; a function has its events. */
function FrameLinks({ name, isFunction }: { name: string; isFunction: boolean }) {
  const s = useUrl();
  const mode = s.args.mode || "on";
  const events = both(s.q, TYPES[mode]);
  const by: Record<string, string> = { process: "proc.name", container: "container.id", operation: "rpc.method" };
  const field = by[s.args.by || ""];

  return (
    <aside class="box small" aria-label="selected frame"><header><h2>{safe(name)}</h2>
      <button type="button" onClick={() => go({ args: { sel: null } })}>close</button></header>
      <ul class="links">
        <li><a data-step href={href({ args: { focus: name } })}>stacks below it</a></li>
        <li><a data-step href={href({ args: { focus: name, shape: "sandwich" } })}>callers and callees</a></li>
        <li><a data-step href={href({ page: "events",
          q: isFunction ? both(events, equals("stack.function", name)) : events })}>{mode === "on" ? "samples" :
          mode === "off" ? "waits" : "samples and waits"} {isFunction ? "in it" : "of this range"}</a></li>
        <li><a data-step href={href({ args: { by: "operation", focus: name } })}>operations it served</a></li>
        {field && <li><a data-step href={href({ q: both(s.q, equals(field, name)), args: { sel: null } })}>only
          {" "}{field}={safe(name)}</a></li>}
      </ul></aside>
  );
}

/* @value once it stayed for a moment: the server is asked for the frames of a zoom when the zooming ends. */
function useSettled<T>(value: T): T {
  const [settled, set] = useState(value);

  useEffect(() => {
    const timer = setTimeout(() => set(value), SETTLE_MS);

    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

interface PictureProps {
  words: Record<string, string | number>;
  find: string;
  shape: "up" | "down";
  label: string;
  height: number;
  table?: boolean;
  picture?: boolean;
}

function Picture({ words, find, shape, label, height, table, picture = true }: PictureProps) {
  const s = useUrl();
  const [px, setPx] = useState(1280);
  const { data, error } = useAnswer<FlameAnswer>("/flame", { ...words, px: useSettled(px) });
  const functions = useMemo(() => data && <Functions data={data} chosen={s.args.sel || ""} find={find} />,
    [data, s, find]); // the same element is not drawn anew as the picture zooms
  const chosen = data ? data.names.indexOf(s.args.sel || "") : -1;

  function choose(name: number | null, frame: Frame | null) {
    if (data)
      go({ args: { sel: name === null || !frame ? null : data.names[name] } }, true);
  }

  if (!data)
    return <Failure error={error} />;
  const tall = Math.min(height, TALL_MAX);

  return (
    <div class={table && picture ? "two" : "one"}>
      {picture && <figure><Failure error={error} />
        <Flame label={label} data={data} grow={shape} find={find} chosen={chosen >= 0 ? chosen : null} choose={choose}
          height={tall} zoomed={(w) => setPx(w ? Math.min(10000,
            Math.round((1280 * data.total) / w.total / 1280) * 1280 || 1280) : 1280)} />
        {data.total_old !== undefined && <p class="legend"><i class="swatch s-more" /> a larger share than before
          <i class="swatch s-less" /> a smaller one</p>}
        <p class="legend"><i class="swatch s-user" /> user <i class="swatch s-kernel" /> kernel
          <i class="swatch s-note" /> group</p>
      </figure>}
      {table && <div>{s.args.sel && <FrameLinks name={s.args.sel}
        isFunction={data.functions.some((f) => f.name === s.args.sel)} />}
        {functions}</div>}
    </div>
  );
}

function Pictures({ find }: { find: string }) {
  const s = useUrl();
  const shape = s.args.shape || "flame", focus = s.args.focus || "";
  const words = { mode: s.args.mode || "on", by: s.args.by || "none", focus, against: s.args.against || "" };
  const height = Math.max(200, Math.round(window.innerHeight * 0.55));

  if (shape === "table")
    return <Picture words={words} find={find} shape="up" label="functions" height={height} table picture={false} />;
  if (shape !== "sandwich")
    return <Picture words={words} find={find} shape={shape === "flame" ? "up" : "down"} label="stacks" height={height}
      table />;
  if (!focus)
    return <div><p class="empty">choose a function: its callers are above, what it calls is below</p>
      <Picture words={words} find={find} shape="up" label="functions" height={height} table picture={false} /></div>;
  return (
    <div>
      <h2>callers of {safe(focus)}</h2>
      <Picture words={{ ...words, invert: 1 }} find={find} shape="up" label={`callers of ${safe(focus)}`}
        height={height / 2}
        key="up" />
      <h2>called by it</h2>
      <Picture words={words} find={find} shape="down" label={`called by ${safe(focus)}`}
        height={height / 2} table key="down" />
    </div>
  );
}

export function Cpu() {
  const s = useUrl();
  const { meta } = useFacts(), hosts = useHosts();
  const [find, setFind] = useState("");
  const probe = meta.probes.find((p) => p.name === "cpu");

  return (
    <div class="one">
      <div class="controls">
        <Choice name="mode" label="time" list={MODES} fallback="on" />
        <Choice name="by" label="by" list={hosts.length ? [...BY, ["host", "host"]] : BY} fallback="none" />
        <Choice name="shape" label="as" list={SHAPES} fallback="flame" />
        <label>search <input type="search" value={find} onInput={(e) => setFind(e.currentTarget.value)} /></label>
        <Against />
        {s.args.focus && <span>below {safe(s.args.focus)} <button type="button"
          onClick={() => go({ args: { focus: null } })}>all stacks</button></span>}
      </div>
      {probe && !probe.running && <p class="empty">{probe.hint || "no samples: the probe does not run"}</p>}
      <Pictures find={find} />
      {(s.args.mode || "on") !== "on" && <div><ViewSeries name="waits" columns={["time_ns", "runq_ns"]} />
        <ViewTable name="waits" /></div>}
    </div>
  );
}
