// SPDX-License-Identifier: GPL-2.0-or-later
/* The time range, and the clock: live, or stopped at what is shown. */
import { h } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { LIVE_DEFAULT, shown, useFacts, useShown } from "./answer";
import { duration } from "./format";
import type { Beat } from "./live";
import { absolute, go, isLive, rangeChange, state, useUrl } from "./state";
import { clock, day, digitsFor, parseBack, parseMoment, parseNs, stamp, type Range } from "./time";

const SPANS = ["-10s", "-60s", "-5m", "-15m", "-1h"];

/* The range in absolute times: that of the URL, else that of the newest answer. */
export function rangeNow(): Range | null {
  const given = absolute(state());
  const from = parseNs(shown.from), to = parseNs(shown.to);

  return given || (from !== null && to !== null ? { from, to } : null);
}

export function stop(): void {
  const r = rangeNow();

  if (r)
    go(rangeChange(r.from, r.to));
}

/* Live again, with the length that was shown. */
export function resume(): void {
  const r = absolute(state());
  const seconds = r ? Math.max(1, Math.round(Number(r.to - r.from) / 1e9)) : 60;

  go({ from: `-${Math.min(seconds, 86400)}s`, to: "now" });
}

/* @by: of the span, negative = earlier. */
export function pan(by: number): boolean {
  const r = rangeNow();

  if (!r)
    return false;
  const shift = BigInt(Math.round(Number(r.to - r.from) * by));

  go(rangeChange(r.from + shift, r.to + shift), true);
  return true;
}

export function zoom(by: number): boolean {
  const r = rangeNow();

  if (!r)
    return false;
  const span = Number(r.to - r.from);
  const half = BigInt(Math.round((span * (by - 1)) / 2)); // negative = narrower

  if (by < 1 && span < 1000)
    return false;
  go(rangeChange(r.from - half, r.to + half), true);
  return true;
}

function words(r: Range): string {
  const span = Number(r.to - r.from);
  const digits = digitsFor(span * 100);
  const before = day(r.from) !== day(r.to) ? `${day(r.to)} ` : "";

  return `${before ? `${day(r.from)} ` : ""}${clock(r.from, digits)} - ${before}${clock(r.to, digits)}`;
}

function Picker({ close }: { close: () => void }) {
  const { meta } = useFacts();
  const s = useUrl();
  const r = rangeNow();
  const [from, setFrom] = useState(parseBack(s.from) !== null ? s.from : r ? stamp(r.from) : "");
  const [to, setTo] = useState(s.to === "now" ? "now" : r ? stamp(r.to) : "");
  const [fault, setFault] = useState("");
  const first = useRef<HTMLButtonElement>(null);

  useLayoutEffect(() => first.current?.focus(), []); // before a person, or a key, can be in an input

  function apply(e: Event) {
    e.preventDefault();
    const end = r?.to ?? BigInt(meta.now || "0");

    if (to.trim() === "now" && parseBack(from.trim()) !== null) {
      go({ from: from.trim(), to: "now" });
      close();
      return;
    }
    const a = parseMoment(from, r?.from ?? end, end),
      b = to.trim() === "now" ? end : parseMoment(to, r?.to ?? end, end);

    if (a === null || b === null)
      setFault(`${a === null ? "from" : "to"}: a time such as 14:03:07.5, 2026-11-24 14:03, -60s${
        a === null ? "" : ", now"}`);
    else if (b <= a)
      setFault("the range ends before it begins");
    else {
      go(rangeChange(a, b));
      close();
    }
  }

  return (
    <div class="picker" role="dialog" aria-label="time range" onKeyDown={(e) => {
      if (e.key === "Escape") {
        e.stopPropagation();
        close();
      }
    }}>
      <div class="spans">
        {(meta.live ? SPANS : []).map((span, i) => <button type="button" ref={i ? undefined : first}
          onClick={() => { go({ from: span, to: "now" }); close(); }}>last {span.slice(1)}</button>)}
        <button type="button" ref={meta.live ? undefined : first} onClick={() => {
          if (meta.begin && meta.end)
            go(rangeChange(BigInt(meta.begin), BigInt(meta.end) + 1n));
          else
            go({ from: "", to: "" });
          close();
        }}>{meta.live ? "all that is kept" : "the whole recording"}</button>
      </div>
      <form onSubmit={apply}>
        <label>from <input value={from} spellcheck={false} autocomplete="off"
          onInput={(e) => setFrom(e.currentTarget.value)} /></label>
        <label>to <input value={to} spellcheck={false} autocomplete="off"
          onInput={(e) => setTo(e.currentTarget.value)} /></label>
        <button type="submit">show</button>
        {fault && <p class="failure" role="alert">{fault}</p>}
      </form>
    </div>
  );
}

export function RangeBox({ open, setOpen }: { open: boolean; setOpen: (o: boolean) => void }) {
  const s = useUrl();
  const { meta } = useFacts();
  const now = useShown();
  const button = useRef<HTMLButtonElement>(null);
  const given = absolute(s);
  const live = isLive(s, meta.live);
  const back = live ? s.from || LIVE_DEFAULT : "";
  const r = given || (now.from && now.to ? { from: BigInt(now.from), to: BigInt(now.to) } : null);

  return (
    <div class="range">
      <button type="button" ref={button} aria-haspopup="dialog" aria-expanded={open} id="range"
        onClick={() => setOpen(!open)}>
        {live && back ? `last ${back.slice(1)}` : r ? words(r) : "all"}
        {r && !live ? <small> {duration(Number(r.to - r.from))}</small> : null}</button>
      {open && <Picker close={() => { setOpen(false); button.current?.focus(); }} />}
    </div>
  );
}

export function Clock({ beat }: { beat: Beat }) {
  const s = useUrl();
  const { meta } = useFacts();

  if (!meta.live)
    return <span class="clock">recording</span>;
  const live = isLive(s, meta.live);
  const to = parseNs(s.to);
  const behind = !live && to !== null && beat.now ? Number(BigInt(beat.now) - to) : 0;

  return (
    <span class="clock">
      <button type="button" id="clock" aria-pressed={live} onClick={() => (live ? stop() : resume())}>
        {live ? "live: stop" : `behind ${duration(Math.max(0, behind))}: resume`}</button>
    </span>
  );
}
