// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the canvases share: colours of the style sheet, text that fits, hatching, the time axis. Each text leaves
 * its box at the canvas, so that a test can measure its contrast.
 */
import { clock, digitsOfStep, tickStep, type Ns } from "../time";
import { safe } from "../format";

const NAMES = ["bg", "fg", "muted", "line", "accent", "bad", "hatch", "mark", "heat", "on",
  "run", "wait", "sleep", "disk", "net", "queue", "lock", "other", "kernel", "user", "note", "more", "less"] as const;

export type Colour = typeof NAMES[number];
export type Palette = Record<Colour, string>;

export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
  text: string;
}

export interface Pic {
  ctx: CanvasRenderingContext2D;
  width: number;
  height: number;
  colour: Palette;
  boxes: Box[];
}

export const FONT_PX = 12;
export const FONT = `${FONT_PX}px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace`;
const BOXES_MAX = 400;

/* System colours of forced-colors become rgb() here: a canvas resolves them against its own colour scheme only. */
export function readPalette(): Palette {
  const probe = document.createElement("span");
  const ret = {} as Palette;

  probe.hidden = true;
  document.body.append(probe);
  for (const name of NAMES) {
    probe.style.color = `var(--${name})`;
    ret[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return ret;
}

let charWidth = 0;

export function letter(ctx: CanvasRenderingContext2D): number {
  if (!charWidth) {
    ctx.font = FONT;
    charWidth = ctx.measureText("0000000000").width / 10;
  }
  return charWidth;
}

export interface TextOptions {
  max?: number; // pixels; what does not fit ends in ~, below three letters nothing is drawn
  align?: "left" | "right" | "centre";
  colour?: Colour;
  ground?: boolean; // covers what was drawn there
}

/* @y: middle of the line. */
export function text(p: Pic, what: string, x: number, y: number, o: TextOptions = {}): void {
  const one = letter(p.ctx);
  const most = Math.floor((o.max ?? Infinity) / one);
  let shown = safe(what);

  if (shown.length > most) {
    if (most < 3)
      return;
    shown = `${shown.slice(0, most - 1)}~`;
  }
  const w = shown.length * one;
  const left = o.align === "right" ? x - w : o.align === "centre" ? x - w / 2 : x;

  if (o.ground) {
    p.ctx.fillStyle = p.colour.bg;
    p.ctx.fillRect(left - 2, y - FONT_PX / 2, w + 4, FONT_PX);
  }
  p.ctx.font = FONT;
  p.ctx.textBaseline = "middle";
  p.ctx.fillStyle = p.colour[o.colour || "fg"];
  p.ctx.fillText(shown, left, y);
  if (p.boxes.length < BOXES_MAX)
    p.boxes.push({ x: left, y: y - FONT_PX / 2, w, h: FONT_PX, text: shown });
}

/*
 * Rectangles that are drawn at once, those of a colour as one path: the script pays a sixth of a fillRect() for each.
 * A colour lies above those that were added before it first was.
 */
export class Rects {
  private readonly paths = new Map<Colour, Path2D>();

  add(colour: Colour, x: number, y: number, w: number, h: number): void {
    let path = this.paths.get(colour);

    if (!path)
      this.paths.set(colour, path = new Path2D());
    path.rect(x, y, w, h);
  }

  fill({ ctx, colour }: Pic, alpha = 1): void {
    ctx.globalAlpha = alpha;
    for (const [name, path] of this.paths) {
      ctx.fillStyle = colour[name];
      ctx.fill(path);
    }
    ctx.globalAlpha = 1;
    this.paths.clear();
  }

  stroke({ ctx, colour }: Pic, width: number): void {
    ctx.lineWidth = width;
    for (const [name, path] of this.paths) {
      ctx.strokeStyle = colour[name];
      ctx.stroke(path);
    }
    this.paths.clear();
  }
}

export function hatch(p: Pic, x: number, y: number, w: number, h: number): void {
  const { ctx } = p;

  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, w, h);
  ctx.clip();
  ctx.strokeStyle = p.colour.hatch;
  ctx.lineWidth = 1;
  ctx.beginPath();
  for (let at = Math.floor((x - h) / 6) * 6; at < x + w; at += 6) {
    ctx.moveTo(at, y + h);
    ctx.lineTo(at + h, y);
  }
  ctx.stroke();
  ctx.restore();
}

/* ---- time, left to right ---- */

export interface Axis {
  from: Ns;
  span: number; // ns
  left: number;
  width: number; // pixels
}

export const AXIS_PX = 20;

export function toX(a: Axis, offset: number): number {
  return a.left + (offset / a.span) * a.width;
}

export function toOffset(a: Axis, x: number): number {
  return Math.min(1, Math.max(0, (x - a.left) / a.width)) * a.span;
}

export function timeAxis(p: Pic, a: Axis, y: number): void {
  const wideOf = (n: number) => (8 + (n ? n + 1 : 0) + 2) * letter(p.ctx);
  const stepOf = (wide: number) => tickStep(a.span, Math.max(1, Math.floor(a.width / wide)));
  const digits = digitsOfStep(stepOf(wideOf(0)));
  const wide = wideOf(digits), step = stepOf(wide);
  const phase = Number(a.from % BigInt(Math.round(step)));

  p.ctx.fillStyle = p.colour.line;
  p.ctx.fillRect(a.left, y, a.width, 1);
  for (let at = phase ? step - phase : 0; at <= a.span; at += step) {
    const x = toX(a, at);

    p.ctx.fillStyle = p.colour.line;
    p.ctx.fillRect(Math.round(x), y, 1, 4);
    if (x - wide / 2 >= Math.max(0, a.left - 40) && x + wide / 2 <= p.width)
      text(p, clock(a.from + BigInt(Math.round(at)), digits), x, y + 12, { align: "centre", colour: "muted" });
  }
}

/* Losses of each step, hatched from @y over @h pixels. */
export function losses(p: Pic, a: Axis, lost: number[] | undefined, step: number, y: number, h: number): void {
  lost?.forEach((n, i) => {
    if (n > 0) {
      const x = toX(a, i * step);

      hatch(p, x, y, Math.max(2, Math.min(toX(a, (i + 1) * step), a.left + a.width) - x), h);
    }
  });
}
