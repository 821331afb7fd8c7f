// SPDX-License-Identifier: GPL-2.0-or-later
/* Values over time: panels above one axis, losses hatched through all of them, a selection is a time range. */
import { h } from "preact";
import { useCallback, useState } from "preact/hooks";
import type { Series, Unit } from "../api";
import { value } from "../format";
import { go, rangeChange } from "../state";
import { clock, digitsFor } from "../time";
import { Canvas, type Point, type Rect } from "./canvas";
import { AXIS_PX, losses, text, timeAxis, toOffset, toX, type Axis, type Colour, type Pic } from "./paint";

export interface Panel {
  column: string;
  label: string;
  unit: Unit;
  colour: Colour;
  scale?: number; // of the value, before it is shown
}

const PANEL_PX = 52;
const GAP_PX = 18;

interface Props {
  label: string;
  series: Series;
  panels: Panel[];
  to: string;
}

function axisOf(s: Series, to: string, width: number): Axis {
  const from = BigInt(s.times[0] ?? to);

  return { from, span: Math.max(1, Number(BigInt(to) - from)), left: 0, width };
}

/* On a ground of their own: losses are hatched below them. */
function drawLabels(p: Pic, s: Series, panel: Panel, top: number): void {
  const max = (s.columns[panel.column] || []).reduce<number>((m, v) => Math.max(m, (v ?? 0) * (panel.scale ?? 1)), 0);

  text(p, panel.label, 4, top + 9, { ground: true });
  text(p, `max ${value(max, panel.unit)}`, p.width - 4, top + 9, { align: "right", colour: "muted", ground: true });
}

function drawPanel(p: Pic, a: Axis, s: Series, panel: Panel, top: number): void {
  const data = (s.columns[panel.column] || []).map((v) => (v === null ? null : v * (panel.scale ?? 1)));
  const max = data.reduce<number>((m, v) => Math.max(m, v ?? 0), 0);
  const low = top + GAP_PX + PANEL_PX - GAP_PX - 4;
  const tall = PANEL_PX - GAP_PX;

  p.ctx.fillStyle = p.colour.line;
  p.ctx.fillRect(0, low, p.width, 1);
  p.ctx.fillStyle = p.colour[panel.colour];
  data.forEach((v, i) => {
    if (!v || !max)
      return;
    const x = toX(a, i * s.step_ns), next = Math.min(toX(a, (i + 1) * s.step_ns), a.left + a.width);
    const high = Math.max(1, (v / max) * tall);

    p.ctx.fillRect(x, low - high, Math.max(1, next - x - (next - x > 4 ? 1 : 0)), high);
  });
}

export function pictureHeight(panels: number): number {
  return panels * PANEL_PX + AXIS_PX + 6;
}

export function SeriesPicture({ label, series, panels, to }: Props) {
  const [cursor, setCursor] = useState<number | null>(null);
  const height = pictureHeight(panels.length);
  const last = series.times.length - 1;

  const draw = useCallback((p: Pic) => {
    const a = axisOf(series, to, p.width);

    panels.forEach((panel, i) => drawPanel(p, a, series, panel, i * PANEL_PX));
    losses(p, a, series.lost, series.step_ns, 0, panels.length * PANEL_PX);
    panels.forEach((panel, i) => drawLabels(p, series, panel, i * PANEL_PX));
    timeAxis(p, a, panels.length * PANEL_PX + 2);
    if (cursor !== null) {
      p.ctx.fillStyle = p.colour.mark;
      p.ctx.fillRect(toX(a, (cursor + 0.5) * series.step_ns), 0, 1, panels.length * PANEL_PX);
    }
  }, [series, panels, to, cursor]);

  function index(at: Point): number {
    return Math.min(last, Math.floor(toOffset(axisOf(series, to, at.width), at.x) / series.step_ns));
  }

  function range(r: Rect): void {
    const a = axisOf(series, to, r.width);

    go(rangeChange(a.from + BigInt(Math.floor(toOffset(a, r.x0))), a.from + BigInt(Math.ceil(toOffset(a, r.x1)))));
  }

  function step(i: number): void {
    const at = BigInt(series.times[i]);

    go(rangeChange(at, at + BigInt(series.step_ns)));
  }

  function key(k: string): boolean {
    const by = { ArrowLeft: -1, ArrowRight: 1, ",": -1, ".": 1 }[k];

    if (by !== undefined)
      setCursor(Math.min(last, Math.max(0, (cursor ?? (by > 0 ? -1 : last + 1)) + by)));
    else if ((k === "Enter" || k === "f") && cursor !== null)
      step(cursor);
    else
      return false;
    return true;
  }

  return (
    <Canvas label={label} height={height} draw={draw} whole select={range} keys={key}
      move={(at) => setCursor(at && last >= 0 ? index(at) : null)}
      click={(at) => last >= 0 && step(index(at))}>
      <p class="readout">{cursor !== null && series.times[cursor] ?
        `${clock(BigInt(series.times[cursor]), digitsFor(series.step_ns * 100))}  ${panels.map((p) => {
          const v = series.columns[p.column]?.[cursor];

          return `${p.label} ${value(v === null || v === undefined ? null : v * (p.scale ?? 1), p.unit)}`;
        }).join(", ")}${series.lost[cursor] ? `, lost ${series.lost[cursor]}` : ""}` :
        "drag to select a range; arrows move the cursor, Enter opens its step"}</p>
    </Canvas>
  );
}
