// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of events in columns (doc/api.md, application/vnd.sonde.columns): read once, decoded row by row when shown. */
import type { EventRow } from "./api";

export const COLUMNS = "application/vnd.sonde.columns";

export interface Chunk {
  rows: number;
  first: number; // seq
  last: number;
  row: (i: number) => EventRow;
}

export interface Page {
  chunks: Chunk[];
  n: number;
  lost: number;
}

interface Reader {
  view: DataView;
  at: number;
}

type Column = { kind: number; numbers: Uint32Array | BigUint64Array; heap?: Uint8Array };

const text = new TextDecoder();

function u32(r: Reader): number {
  r.at += 4;
  return r.view.getUint32(r.at - 4, true);
}

function u64(r: Reader): bigint {
  r.at += 8;
  return r.view.getBigUint64(r.at - 8, true);
}

function need(ok: boolean): void {
  if (!ok)
    throw new Error("rows of the server cannot be read: another version of sonde?");
}

/* Arrays are copied where the body is not aligned for them. */
function array(r: Reader, n: number): Uint32Array {
  need(r.at + n * 4 <= r.view.byteLength);
  const ret = new Uint32Array(r.view.buffer.slice(r.view.byteOffset + r.at, r.view.byteOffset + r.at + n * 4));

  r.at += n * 4;
  return ret;
}

function texts(r: Reader, n: number): { offsets: Uint32Array; heap: Uint8Array } {
  const offsets = array(r, n + 1);
  const size = offsets[n];

  need(r.at + size <= r.view.byteLength);
  const heap = new Uint8Array(r.view.buffer, r.view.byteOffset + r.at, size);

  r.at += size;
  return { offsets, heap };
}

function align(r: Reader): void {
  r.at = (r.at + 7) & ~7;
}

function column(r: Reader, kind: number, rows: number): Column {
  if (kind === 1) {
    need(r.at + rows * 8 <= r.view.byteLength);
    const numbers = new BigUint64Array(r.view.buffer.slice(r.view.byteOffset + r.at,
      r.view.byteOffset + r.at + rows * 8));

    r.at += rows * 8;
    return { kind, numbers };
  }
  if (kind === 3) {
    const { offsets, heap } = texts(r, rows);

    return { kind, numbers: offsets, heap };
  }
  return { kind, numbers: array(r, rows) };
}

function chunkOf(base: bigint, rows: number, words: string[], columns: Map<string, Column>): Chunk {
  const number = (name: string, i: number) => Number(columns.get(name)?.numbers[i] ?? 0);
  const string = (name: string, i: number) => {
    const c = columns.get(name);

    if (!c)
      return "";
    return c.heap ? text.decode(c.heap.subarray(Number(c.numbers[i]), Number(c.numbers[i + 1]))) :
      words[Number(c.numbers[i])] ?? "";
  };

  return {
    rows, first: number("seq", 0), last: number("seq", rows - 1),
    row: (i) => ({
      seq: number("seq", i), ts: String(base + BigInt(number("time", i))), type: string("type", i),
      pid: number("pid", i), process: string("process", i), host: string("host", i),
      text: string("text", i),
    }),
  };
}

export function parseColumns(body: ArrayBuffer): Page {
  const page: Page = { chunks: [], n: 0, lost: 0 };
  const words: string[] = [];

  for (let start = 0; start < body.byteLength;) {
    need(body.byteLength - start >= 40);
    const length = new DataView(body, start).getUint32(0, true);

    need(length >= 40 && start + length <= body.byteLength);
    const r: Reader = { view: new DataView(body, start, length), at: 4 };
    const rows = u32(r), base = u64(r), lost = Number(u64(r)), n = Number(u64(r)), count = u32(r), fresh = u32(r);
    const said = texts(r, fresh);

    align(r);
    for (let i = 0; i < fresh; i++)
      words.push(text.decode(said.heap.subarray(said.offsets[i], said.offsets[i + 1])));
    const columns = new Map<string, Column>();

    for (let i = 0; i < count; i++) {
      const name = words[u32(r)], kind = u32(r), size = Number(u64(r)), begin = r.at;

      columns.set(name, column(r, kind, rows));
      r.at = begin + size;
      align(r);
    }
    page.n = page.n || n;
    page.lost = page.lost || lost;
    if (rows)
      page.chunks.push(chunkOf(base, rows, words, columns));
    start += length;
  }
  return page;
}

export function chunkOfRows(rows: EventRow[]): Chunk {
  return { rows: rows.length, first: rows[0]?.seq ?? 0, last: rows[rows.length - 1]?.seq ?? 0, row: (i) => rows[i] };
}
