// SPDX-License-Identifier: GPL-2.0-or-later
/* Times are ns since 1970 as BigInt: a double holds them to 256 ns only. Differences within a range are numbers. */

export type Ns = bigint;

export interface Range {
  from: Ns;
  to: Ns;
}

const UNITS: Record<string, bigint> = {
  ns: 1n, us: 1000n, ms: 1000000n, s: 1000000000n, m: 60000000000n, h: 3600000000000n, d: 86400000000000n,
};

/* "-60s": ns before the end. null if the text is something else. */
export function parseBack(text: string): Ns | null {
  const found = /^-(\d+)(ns|us|ms|s|m|h|d)$/.exec(text);

  return found ? BigInt(found[1]) * UNITS[found[2]] : null;
}

export function parseNs(text: string): Ns | null {
  return /^\d{1,20}$/.test(text) ? BigInt(text) : null;
}

function pad(n: number, width = 2): string {
  return String(n).padStart(width, "0");
}

function parts(ns: Ns): { date: Date; below: number } {
  const ms = ns / 1000000n;

  return { date: new Date(Number(ms)), below: Number(ns - (ms / 1000n) * 1000000000n) };
}

/* Wall clock of the viewer. @digits: of the fraction of a second. */
export function clock(ns: Ns, digits = 0): string {
  const { date, below } = parts(ns);
  const text = `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;

  return digits ? `${text}.${pad(below, 9).slice(0, digits)}` : text;
}

export function day(ns: Ns): string {
  const { date } = parts(ns);

  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
}

export function stamp(ns: Ns): string {
  return `${day(ns)} ${clock(ns, 9)}`;
}

/* Digits of a second that tell multiples of @step apart. */
export function digitsOfStep(step: number): number {
  return step >= 1e9 ? 0 : step >= 1e6 ? 3 : step >= 1e3 ? 6 : 9;
}

/* Digits of a second that tell the ends of @span apart in about 1,000 steps. */
export function digitsFor(span: number): number {
  return span >= 100e9 ? 0 : span >= 1e9 ? 3 : span >= 1e6 ? 6 : 9;
}

/* "14:03:07.5", "2026-11-24 14:03:07", digits of ns, or "-60s" before @end. @near: gives a bare time its day. */
export function parseMoment(text: string, near: Ns, end: Ns): Ns | null {
  const trimmed = text.trim();
  const back = parseBack(trimmed);

  if (back !== null)
    return end - back;
  if (/^\d{16,20}$/.test(trimmed))
    return BigInt(trimmed);
  const found = /^(?:(\d{4}-\d{2}-\d{2})[ T])?(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?$/.exec(trimmed);

  if (!found)
    return null;
  const at = new Date(`${found[1] || day(near)}T${found[2].padStart(2, "0")}:${found[3]}:${found[4] || "00"}`);

  if (Number.isNaN(at.getTime()))
    return null;
  return BigInt(at.getTime()) * 1000000n + BigInt((found[5] || "").padEnd(9, "0"));
}

/* Steps of 1, 2, 5 (below a second) or of the clock that give at most @most ticks in @span ns. */
export function tickStep(span: number, most: number): number {
  const wide = [1e9, 2e9, 5e9, 10e9, 15e9, 30e9, 60e9, 120e9, 300e9, 600e9, 900e9, 1800e9, 3600e9, 7200e9, 10800e9,
    21600e9, 43200e9, 86400e9];

  if (span / most > 5e8)
    return wide.find((s) => span / s <= most) || Math.ceil(span / most / 86400e9) * 86400e9;
  const power = 10 ** Math.floor(Math.log10(Math.max(1, span / most)));

  return [1, 2, 5, 10].map((m) => m * power).find((s) => span / s <= most) || power * 10;
}
