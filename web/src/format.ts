// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers of at most five characters with their unit, times, and text that may hold anything. */
import type { Unit } from "./api";

const ENGLISH = new Intl.NumberFormat("en"); // n.toLocaleString("en") looks its locale up each time

export function allDigits(n: number): string {
  return ENGLISH.format(n);
}

const STEPS = ["", "k", "M", "G", "T", "P"];

function scaled(v: number, step: number, units: string[]): string {
  let i = 0;
  let x = Math.abs(v);

  // 999.95 would be written as 1000.0: the next unit begins where rounding reaches it.
  while (x >= step * 0.9995 && i < units.length - 1) {
    x /= step;
    i++;
  }
  const text = Number.isInteger(x) && x < step ? String(x) : x < 9.995 ? x.toFixed(2) :
    x < 99.95 ? x.toFixed(1) : x.toFixed(0);

  return (v < 0 ? "-" : "") + text + units[i];
}

export function count(v: number): string {
  return scaled(v, 1000, STEPS);
}

export function bytes(v: number): string {
  return scaled(v, 1000, STEPS) + (Math.abs(v) < 999.5 ? "B" : "");
}

export function duration(ns: number): string {
  if (Math.abs(ns) < 59.995e9)
    return ns === 0 ? "0" : scaled(ns, 1000, ["ns", "us", "ms", "s"]);
  const s = Math.round(Math.abs(ns) / 1e9);
  const sign = ns < 0 ? "-" : "";

  if (s < 3600)
    return `${sign}${Math.floor(s / 60)}m${s % 60}s`;
  if (s < 86400)
    return `${sign}${Math.floor(s / 3600)}h${Math.floor((s % 3600) / 60)}m`;
  return `${sign}${Math.floor(s / 86400)}d${Math.floor((s % 86400) / 3600)}h`;
}

export function percent(v: number): string {
  return v === 0 ? "0" : v < 0.05 ? "<0.1%" : v < 99.95 ? `${v.toFixed(1)}%` : `${v.toFixed(0)}%`;
}

export function value(v: number | null | undefined, unit: Unit): string {
  if (v === null || v === undefined)
    return "-";
  switch (unit) {
  case "bytes": return bytes(v);
  case "ns": return duration(v);
  case "us": return duration(v * 1000);
  case "samples": return plural(v, "sample");
  case "percent": return percent(v);
  default: return count(v);
  }
}

/* All digits, for titles: a figure that was rounded for its cell can always be read. */
export function exact(v: number | null | undefined, unit: Unit): string {
  if (v === null || v === undefined)
    return "not known";
  return unit === "percent" ? `${v} %` : `${allDigits(v)}${unit === "number" ? "" : ` ${unit}`}`;
}

/* Controls, line separators and bidirectional overrides, escaped: a name must not rearrange the line it stands in. */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;
const NAMED: Record<string, string> = { "\n": "\\n", "\t": "\\t", "\r": "\\r", "\u001b": "\\e" };

export function safe(text: string): string {
  return text.replace(UNSAFE, (c) => {
    const code = c.charCodeAt(0);

    return NAMED[c] || (code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`);
  });
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${allDigits(n)} ${n === 1 ? one : many}`;
}
