// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One stream of a visible tab for all that is shown live: browsers hold six connections to a server, so each tab
 * keeps one, and none while it is hidden. Subscriptions are answers of /api/v1 that the server sends again when
 * they changed.
 */
import { ApiError, request } from "./api";

interface Subscriber {
  take: (answer: unknown) => void;
  fail: (e: ApiError) => void;
}

export interface Beat {
  now: string;
  lost: number;
  causes: { cause: string; count: number }[];
  events: number;
  gone: number;
  error: string;
}

const SETTLE_MS = 30; // several components of one page subscribe in the same turn
const RETRY_MS = 1000;
const subscribers = new Map<string, Set<Subscriber>>();
const listeners = new Set<(b: Beat) => void>();
let beat: Beat = { now: "", lost: 0, causes: [], events: 0, gone: 0, error: "" };
let stream: AbortController | null = null;
let timer = 0;

function say(change: Partial<Beat>): void {
  beat = { ...beat, ...change };
  listeners.forEach((l) => l(beat));
}

function handle(line: string, paths: string[]): void {
  const message = JSON.parse(line);

  if (message.beat !== undefined) {
    say({ now: message.end || message.beat, lost: message.lost, causes: message.causes ?? [],
      events: message.events ?? 0, gone: message.gone ?? 0, error: "" });
    return;
  }
  subscribers.get(paths[message.sub])?.forEach((s) => {
    if (message.answer)
      s.take(message.answer);
    else
      s.fail(new ApiError(message.status, message.error, message.offset, message.hint));
  });
}

async function read(body: ReadableStream<Uint8Array>, paths: string[]): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let kept = "";

  for (;;) {
    const { done, value } = await reader.read();

    if (done)
      return;
    const lines = (kept + decoder.decode(value, { stream: true })).split("\n");

    kept = lines.pop() || "";
    for (const line of lines) {
      if (line)
        handle(line, paths);
    }
  }
}

function later(ms: number): void {
  clearTimeout(timer);
  timer = window.setTimeout(open, ms);
}

async function open(): Promise<void> {
  stream?.abort();
  stream = null;
  if (document.hidden || (!subscribers.size && !listeners.size))
    return;
  const mine = (stream = new AbortController());
  const paths = [...subscribers.keys()];
  const search = paths.map((p) => `sub=${encodeURIComponent(p)}`).join("&");

  try {
    const response = await request(search ? `/live?${search}` : "/live", mine.signal, "application/x-ndjson");

    if (response.body)
      await read(response.body, paths);
    say({ error: "sonde ui ended the stream" });
  } catch (e) {
    if (mine.signal.aborted)
      return;
    const error = e instanceof ApiError ? e : new ApiError(0, "sonde ui ended the stream");

    say({ error: error.message });
    if (error.status === 401)
      subscribers.forEach((all) => all.forEach((s) => s.fail(error)));
  }
  if (stream === mine)
    later(RETRY_MS);
}

document.addEventListener("visibilitychange", () => later(0));

function change(): void {
  later(SETTLE_MS);
}

/* Ends with the returned function. */
export function subscribe(path: string, s: Subscriber): () => void {
  const all = subscribers.get(path) || new Set();

  all.add(s);
  subscribers.set(path, all);
  change();
  return () => {
    all.delete(s);
    if (!all.size)
      subscribers.delete(path);
    change();
  };
}

export function onBeat(l: (b: Beat) => void): () => void {
  listeners.add(l);
  change();
  return () => {
    listeners.delete(l);
    change();
  };
}

