// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Heat map: time to the right, duration upwards, shade for the count, steps with losses hatched. A cell opens the
 * events that it counts; a dragged rectangle narrows filter and range to it.
 */
import { h } from "preact";
import { useCallback, useMemo, useState } from "preact/hooks";
import type { HeatAnswer } from "../api";
import { count, duration, percent, plural, value } from "../format";
import { both } from "../filter";
import { go, rangeChange, useUrl } from "../state";
import { clock, digitsFor } from "../time";
import { Canvas, type Point, type Rect } from "./canvas";
import { AXIS_PX, losses, text, timeAxis, toX, type Axis, type Pic } from "./paint";

const LEFT_PX = 58;
const ROWS_PX = 240;

interface Cell {
  col: number;
  row: number;
}

interface Props {
  label: string;
  view: string; // whose events the cells count
  data: HeatAnswer;
}

function axisOf(d: HeatAnswer, width: number): Axis {
  return { from: BigInt(d.times[0] ?? d.from), span: Math.max(1, d.times.length * d.step_ns), left: LEFT_PX,
    width: Math.max(1, width - LEFT_PX - 4) };
}

function drawRows(p: Pic, d: HeatAnswer): void {
  const tall = ROWS_PX / d.rows.length;
  let last = Infinity;

  d.rows.forEach((low, i) => {
    const y = ROWS_PX - i * tall;

    if (last - y >= 18 && y >= 12) {
      text(p, low ? duration(low) : "0", LEFT_PX - 6, Math.min(ROWS_PX - 6, y), { align: "right", colour: "muted" });
      last = y;
    }
  });
}

/* Counts differ by orders of magnitude: the shade follows the logarithm, an empty cell has none. */
function drawCells(p: Pic, a: Axis, d: HeatAnswer, max: number): void {
  const tall = ROWS_PX / d.rows.length;
  const { ctx } = p;

  ctx.fillStyle = p.colour.heat;
  d.counts.forEach((row, r) => row.forEach((n, c) => {
    if (!n)
      return;
    const x = toX(a, c * d.step_ns);

    ctx.globalAlpha = 0.2 + 0.8 * (Math.log1p(n) / Math.log1p(max));
    ctx.fillRect(x, ROWS_PX - (r + 1) * tall, Math.max(1, toX(a, (c + 1) * d.step_ns) - x), Math.max(1, tall));
  }));
  ctx.globalAlpha = 1;
}

export function Heat({ label, view, data }: Props) {
  const s = useUrl();
  const [cell, setCell] = useState<Cell | null>(null);
  const max = useMemo(() => data.counts.reduce((m, row) => row.reduce((n, v) => Math.max(n, v), m), 0), [data]);
  const height = ROWS_PX + AXIS_PX + 4;

  const draw = useCallback((p: Pic) => {
    const a = axisOf(data, p.width);

    drawCells(p, a, data, max);
    losses(p, a, data.losses, data.step_ns, 0, ROWS_PX);
    drawRows(p, data);
    p.ctx.fillStyle = p.colour.line;
    p.ctx.fillRect(LEFT_PX - 1, 0, 1, ROWS_PX);
    timeAxis(p, a, ROWS_PX + 1);
    if (cell) {
      const tall = ROWS_PX / data.rows.length, x = toX(a, cell.col * data.step_ns);

      p.ctx.strokeStyle = p.colour.mark;
      p.ctx.lineWidth = 2;
      p.ctx.strokeRect(x, ROWS_PX - (cell.row + 1) * tall, toX(a, (cell.col + 1) * data.step_ns) - x, tall);
    }
  }, [data, max, cell]);

  function cellAt(at: Point): Cell | null {
    const a = axisOf(data, at.width);
    const col = Math.floor(((at.x - a.left) / a.width) * data.times.length);
    const row = Math.floor(((ROWS_PX - at.y) / ROWS_PX) * data.rows.length);

    return col >= 0 && col < data.times.length && row >= 0 && row < data.rows.length ? { col, row } : null;
  }

  /* Rows @low to @high, columns @left to @right, inclusive, as filter and range. */
  function part(left: number, right: number, low: number, high: number) {
    const from = BigInt(data.times[left]), to = BigInt(data.times[right]) + BigInt(data.step_ns);
    const end = BigInt(data.to);
    const clause = both(data.rows[low] ? `${data.field}>=${data.rows[low]}` : null,
      high + 1 < data.rows.length ? `${data.field}<${data.rows[high + 1]}` : null);

    return { ...rangeChange(from, to > end ? end : to), q: both(s.q, clause) };
  }

  function open(c: Cell): void {
    if (data.counts[c.row][c.col])
      go({ ...part(c.col, c.col, c.row, c.row), page: "events", args: { view } });
  }

  function select(r: Rect): void {
    const a = { ...axisOf(data, r.width) };
    const clamp = (v: number, n: number) => Math.min(n - 1, Math.max(0, Math.floor(v)));
    const col = (x: number) => clamp(((x - a.left) / a.width) * data.times.length, data.times.length);
    const row = (y: number) => clamp(((ROWS_PX - y) / ROWS_PX) * data.rows.length, data.rows.length);

    if (data.times.length)
      go(part(col(r.x0), col(r.x1), row(r.y1), row(r.y0)));
  }

  /* The next cell that counts something, by column, then upwards. */
  function next(forward: boolean): Cell | null {
    const wide = data.times.length, tall = data.rows.length;
    let at = cell ? cell.col * tall + cell.row : forward ? -1 : wide * tall;

    for (at += forward ? 1 : -1; at >= 0 && at < wide * tall; at += forward ? 1 : -1) {
      if (data.counts[at % tall][Math.floor(at / tall)])
        return { col: Math.floor(at / tall), row: at % tall };
    }
    return cell;
  }

  function keys(k: string): boolean {
    const move = ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] } as
      Record<string, number[]>)[k];

    if (move && cell)
      setCell({ col: Math.min(data.times.length - 1, Math.max(0, cell.col + move[0])),
        row: Math.min(data.rows.length - 1, Math.max(0, cell.row + move[1])) });
    else if (move || k === "." || k === ",")
      setCell(next(k !== ","));
    else if (k === "Enter" && cell)
      open(cell);
    else if (k === "f" && cell)
      go(part(cell.col, cell.col, cell.row, cell.row));
    else
      return false;
    return true;
  }

  const total = data.counts.map((row) => row.reduce((n, v) => n + v, 0));
  const sum = total.reduce((n, v) => n + v, 0);

  return (
    <figure>
      <Canvas label={`${label}, ${plural(data.total, "event")}; the same as a table below`} height={height}
        draw={draw}
        move={(at) => setCell(at && cellAt(at))} click={(at) => { const c = cellAt(at); if (c) open(c); }}
        select={select} keys={keys}>
        <p class="readout">{cell && data.counts[cell.row] ?
          `${clock(BigInt(data.times[cell.col]), digitsFor(data.step_ns * 100))}  ${
            value(data.rows[cell.row], data.unit)}${cell.row + 1 < data.rows.length ?
            ` to ${value(data.rows[cell.row + 1], data.unit)}` : " and more"}: ${
            data.counts[cell.row][cell.col]}${data.losses[cell.col] ? `, lost ${data.losses[cell.col]}` : ""}` :
          "drag to narrow range and filter; . and , move to cells, Enter opens one"}</p>
      </Canvas>
      <details class="alike"><summary>as a table</summary>
        <table><caption>{data.field}</caption>
          <thead><tr><th scope="col">from</th><th scope="col" class="num">events</th>
            <th scope="col" class="num">share</th></tr></thead>
          <tbody>{data.rows.map((low, i) => (total[i] ? <tr><th scope="row">{value(low, data.unit)}</th>
            <td class="num">{count(total[i])}</td><td class="num">{percent((100 * total[i]) / sum)}</td></tr> :
            null))}</tbody></table>
      </details>
    </figure>
  );
}
