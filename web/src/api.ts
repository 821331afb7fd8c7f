// SPDX-License-Identifier: GPL-2.0-or-later
/* /api/v1 (doc/api.md): shapes of answers, single requests, errors, the token. */

export type Unit = "number" | "bytes" | "ns" | "us" | "percent" | "samples";

export interface Ranged {
  from: string;
  to: string;
  first?: string;
  lost: number;
  read?: number; // part of a recording that is read so far
  reading?: boolean;
}

export interface Meta {
  version: string;
  host: string; // empty of several
  kernel: string;
  cpus: number;
  hosts: { name: string; kernel: string; cpus: number }[];
  input: string;
  live: boolean;
  reading?: boolean;
  content: boolean;
  note: string; // what the page cannot show of this input
  begin: string;
  end: string;
  now: string;
  events: number;
  gone: number;
  probes: { name: string; running: boolean; hint: string }[];
  ledger: { host: string; probe: string; seen: number; delivered: number; filtered: number; sampled: number;
    lost: number }[];
  lost: { cause: string; count: number }[];
}

export interface Field {
  name: string;
  type: string;
  help: string;
  events: string[];
}

export interface Key {
  head: string;
  field: string;
}

export interface Col {
  head: string;
  name: string;
  type: string;
  unit: Unit;
  op: string;
  priority: number;
}

export interface View {
  name: string;
  title: string;
  sort: string;
  drill: string[];
  keys: Key[];
  notes: Key[]; // texts of a row beside its keys
  cols: Col[];
}

export interface Row {
  id: string;
  keys: string[];
  notes: (string | null)[]; // null: no event says it
  values: (number | null)[];
  events: number;
  other: boolean;
  filter: string | null;
  exact?: boolean; // false: the filter also selects events of other rows
}

export interface Series {
  step_ns: number;
  times: string[];
  lost: number[];
  columns: Record<string, (number | null)[]>;
}

export interface ViewAnswer extends Ranged {
  view: string;
  events: number;
  groups: number;
  rows: Row[];
  rest?: { rows: number; events: number; values: (number | null)[] };
  series?: Series;
}

export interface HeatAnswer extends Ranged {
  field: string;
  unit: Unit;
  step_ns: number;
  times: string[];
  rows: number[];
  counts: number[][];
  losses: number[]; // by column
  total: number;
  q: string;
}

/* name, depth, start, total, self, part, older total */
export type Frame = [number, number, number, number, number, number, number?];

export interface FlameAnswer extends Ranged {
  unit: Unit;
  total: number;
  total_old?: number;
  samples: number;
  trimmed: { frames: number; value: number };
  names: string[];
  frames: Frame[];
  functions: { name: string; self: number; total: number }[];
}

/* offset from `from`, length, state, how many were merged */
export type Slice = [number, number, number, number];

export interface TracksAnswer extends Ranged {
  pid: number;
  threads: { tid: number; name: string; slices: Slice[] }[];
  losses: [number, number][]; // offset from `from`, records of the host
  states: string[];
}

export interface EventRow {
  seq: number;
  ts: string;
  type: string;
  pid?: number;
  process?: string;
  host?: string;
  text: string;
}

export interface EventsAnswer extends Ranged {
  kept?: { first: number; last: number };
  n: number;
  events: EventRow[];
}

export interface EventAnswer {
  event: Record<string, unknown>;
  text: string;
  stack?: { name: string; part: number }[];
  bytes?: string;
  links: { what: string; label: string; q: string; page: string }[];
}

export interface Span<T = number> {
  span: number;
  parent?: number;
  joined_by: string;
  call: string;
  method: string;
  side: string;
  status: string;
  error: boolean;
  pid: number;
  process: string;
  from: T;
  to: T;
  packets: number;
  retransmitted: number;
  drops: number;
  event: number;
}

export interface Segment<T = number> {
  from: T;
  to: T;
  span: number;
  pid: number;
  thread?: number;
  state: string;
  cause: string;
  detail?: string;
  woken_by?: string;
  known_by: string;
  event?: number;
}

export interface Item<T = number> {
  event: number;
  type: string;
  span: number;
  from: T;
  to: T;
  name?: string;
  file?: string;
  fd?: number;
  ret?: number;
  dir?: string;
  reason?: string;
  len?: number;
  bytes?: number;
  queued?: number;
  queued_runq?: number;
}

export interface TraceAnswer<T = number> {
  call: string;
  method: string;
  time_ns?: string;
  from: T;
  latency: number;
  spans: Span<T>[];
  segments: Segment<T>[];
  events: Item<T>[];
  ambiguous_children: number;
  beyond_limits: number;
  evicted: boolean;
}

export interface Side {
  side: string;
  host: string;
  pid: number;
  process: string;
  call?: string;
  method?: string;
  status?: string;
  error: boolean;
  latency?: number;
  ts: string;
  event: number;
}

export interface SidesAnswer {
  sides: Side[];
  joined_by: string;
  network: number | null; // ns; null: why
  why: string;
}

export interface Operation {
  method: string;
  calls: number;
  failed: number;
  slow: number;
  normal: number;
  slow_ns: number;
  normal_ns: number;
  silence?: string;
  causes: {
    cause: string; more_ns: number; low_ns: number; high_ns: number; calls: string[];
    why: { text: string; calls: number; ns: number }[];
  }[];
  other_ns?: number; // of causes that are not certain
  unknown_ns?: number;
}

export interface ExplainAnswer extends Partial<Ranged> {
  operations: Operation[];
}

export interface Recording {
  name: string;
  kind: string;
  bytes: number;
  modified?: string;
  begin?: string;
  end?: string;
  host?: string;
  events?: number;
  lost?: number;
}

export interface RecordingsAnswer {
  folder: string;
  files: Recording[];
}

export class ApiError extends Error {
  again?: () => void; // asks once more: the server may have time later

  constructor(readonly status: number, text: string, readonly offset?: number, readonly hint?: string) {
    super(text);
  }
}

export type Words = Record<string, string | number | null | undefined>;

/* @path below /api/v1, with the words that have a value. */
export function address(path: string, words: Words = {}): string {
  const search = new URLSearchParams();

  for (const [name, text] of Object.entries(words)) {
    if (text !== null && text !== undefined && text !== "")
      search.set(name, String(text));
  }
  const text = search.toString();

  return text ? `${path}?${text}` : path;
}

/* ---- token ---- */

const KEPT = "sonde-token";

/* The fragment never reaches a server or a log; it leaves the address bar before anything is shown. */
export function takeToken(): void {
  const found = /[#&]t=([A-Za-z0-9_-]+)/.exec(location.hash);

  if (!found)
    return;
  localStorage.setItem(KEPT, found[1]);
  history.replaceState(null, "", location.pathname + location.search);
}

export function setToken(text: string): boolean {
  const found = /(?:#t=)?([A-Za-z0-9_-]{16,})$/.exec(text.trim());

  if (found)
    localStorage.setItem(KEPT, found[1]);
  return !!found;
}

function headers(accept: string): Record<string, string> {
  return { Authorization: `Bearer ${localStorage.getItem(KEPT) || ""}`, Accept: accept };
}

/* ---- requests ---- */

async function failure(response: Response): Promise<ApiError> {
  let text = `the server answered ${response.status}`;
  let offset: number | undefined, hint: string | undefined;

  try {
    const body = await response.json();

    text = body.error || text;
    ({ offset, hint } = body);
  } catch {
    // a proxy's page, or nothing: the status says all there is
  }
  return new ApiError(response.status, text, offset, hint);
}

export async function request(path: string, signal?: AbortSignal, accept = "application/json"): Promise<Response> {
  let response: Response;

  try {
    response = await fetch(`/api/v1${path}`, { headers: headers(accept), signal, cache: "no-store",
      credentials: "omit" });
  } catch (e) {
    if ((e as Error).name === "AbortError")
      throw e;
    throw new ApiError(0, "no answer from sonde ui: it has ended, or too many pages are open");
  }
  if (!response.ok)
    throw await failure(response);
  return response;
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return await (await request(path, signal)).json() as T;
}
