// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The list of events: a window of what the server has, in chunks, extended at both ends. Live it ends with the newest
 * event, however many come: rows that are passed over stay with the server, and scrolling back gets them.
 */
import { address, request, type EventRow, type EventsAnswer, type Words } from "./api";
import { chunkOfRows, COLUMNS, parseColumns, type Chunk, type Page } from "./columns";
import { noteRange } from "./answer";

const KEPT_ROWS = 1000000;
const FOLLOW_ROWS = 10000; // of one answer, the server's limit

async function fetchPage(words: Words, signal: AbortSignal): Promise<Page> {
  const response = await request(address("/events", words), signal, `${COLUMNS}, application/json;q=0.5`);

  if ((response.headers.get("Content-Type") || "").startsWith(COLUMNS))
    return parseColumns(await response.arrayBuffer());
  const answer = (await response.json()) as EventsAnswer;

  noteRange(answer);
  return { chunks: answer.events.length ? [chunkOfRows(answer.events)] : [], n: answer.n, lost: answer.lost };
}

/* The chunk without its first rows. */
function behind(c: Chunk, n: number): Chunk {
  return n ? { rows: c.rows - n, first: c.row(n).seq, last: c.last, row: (i) => c.row(i + n) } : c;
}

export class Rows {
  chunks: Chunk[] = [];
  starts: number[] = []; // index of the first row of each chunk
  rows = 0;
  n = 0; // of the range, all
  lost = 0;
  loaded = false; // an answer has come
  atStart = false;
  atEnd = false;
  private busy: AbortController | null = null;
  private moves = false; // the range, along with the clock
  private cut = 0; // rows of the first chunk that have left it
  private fast = false; // more rows came than an answer has

  constructor(private words: Words, private readonly changed: (grownAtFront: number) => void) {}

  /* The range stands still from now on; what is here stays. */
  hold(words: Words): void {
    this.words = words;
    this.moves = false;
  }

  get(i: number): EventRow | null {
    let low = 0, high = this.starts.length - 1;

    if (i < 0 || i >= this.rows)
      return null;
    while (low < high) {
      const mid = (low + high + 1) >> 1;

      if (this.starts[mid] <= i)
        low = mid;
      else
        high = mid - 1;
    }
    return this.chunks[low].row(i - this.starts[low]);
  }

  get first(): number {
    return this.chunks.length ? this.chunks[0].row(this.cut).seq : 0;
  }

  get last(): number {
    return this.chunks[this.chunks.length - 1]?.last ?? 0;
  }

  /* First rows of the range, or its newest; rows behind, before those that are here. False while one is under way. */
  async load(where: "start" | "end" | "after" | "before", limit: number): Promise<boolean> {
    if (this.busy)
      return false;
    const mine = (this.busy = new AbortController());
    const seq = where === "start" ? { after: 0 } : where === "after" ? { after: this.last } :
      where === "before" ? { before: this.first } : {};

    try {
      const page = await fetchPage({ ...this.words, ...seq, limit }, mine.signal);

      this.take(where, page, limit);
      return true;
    } finally {
      if (this.busy === mine)
        this.busy = null;
    }
  }

  /* The newest rows of a range that moves along. */
  follow(): Promise<boolean> {
    this.moves = true;
    return this.load(this.rows && !this.fast ? "after" : "end", FOLLOW_ROWS);
  }

  /* Takes @over rows off the front. */
  private drop(over: number): void {
    for (let left = over; left > 0 && this.chunks.length;) {
      const rows = this.chunks[0].rows - this.cut;

      if (rows > left) {
        this.cut += left;
        break;
      }
      left -= rows;
      this.chunks.shift();
      this.cut = 0;
    }
    this.index();
  }

  private take(where: string, page: Page, limit: number): void {
    const got = page.chunks.reduce((n, c) => n + c.rows, 0);

    if (where !== "before")
      this.fast = where === "after" ? got >= limit : !!this.rows && !!got && page.chunks[0].first > this.last;
    this.loaded = true;
    this.n = page.n;
    this.lost = page.lost;
    if (where === "before")
      this.chunks = [...page.chunks, ...this.chunks.map((c, i) => (i ? c : behind(c, this.cut)))];
    else if (where === "after")
      this.chunks = [...this.chunks, ...page.chunks];
    else
      this.chunks = page.chunks;
    if (where !== "after")
      this.cut = 0;
    if (where !== "after")
      this.atStart = where === "start" || got < limit;
    if (where === "end" || (where !== "before" && got < limit))
      this.atEnd = true;
    this.index();
    const beyond = where === "after" ? Math.max(0, this.rows - KEPT_ROWS) : 0;
    const over = where === "after" && this.moves ? Math.max(beyond, this.rows - this.n) : beyond;

    this.drop(over);
    this.atStart = this.atStart && !beyond;
    this.changed(where === "before" ? got : -over);
  }

  private index(): void {
    this.starts = [];
    this.rows = -this.cut;
    for (const c of this.chunks) {
      this.starts.push(this.rows);
      this.rows += c.rows;
    }
  }

  stop(): void {
    this.busy?.abort();
  }
}
