// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A canvas as large as its place: draws when its content, its size or the colours change; pointer and keys become
 * moves, clicks and selected rectangles. The picture is also said in words: @label, and a table beside it.
 */
import { h, type ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { readPalette, type Box, type Palette, type Pic } from "./paint";

export interface Point {
  x: number;
  y: number;
  width: number; // of the canvas
}

export interface Rect {
  width: number;
  x0: number;
  x1: number;
  y0: number;
  y1: number;
}

interface Props {
  label: string;
  height: number;
  draw: (p: Pic) => void;
  move?: (at: Point | null) => void;
  click?: (at: Point, twice: boolean) => void;
  select?: (r: Rect) => void;
  keys?: (key: string, e: KeyboardEvent) => boolean;
  wheel?: (at: Point, steps: number) => boolean;
  whole?: boolean; // a selection covers the full height
  children?: ComponentChildren; // the readout below
}

const DRAG_PX = 5;
const watchers = new Set<() => void>();
let palette: Palette | null = null;

for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)", "(prefers-contrast: more)"]) {
  matchMedia(query).addEventListener("change", () => {
    palette = null;
    watchers.forEach((w) => w());
  });
}

function paint(canvas: HTMLCanvasElement, width: number, height: number, draw: (p: Pic) => void): void {
  const scale = Math.min(3, window.devicePixelRatio || 1);
  const ctx = canvas.getContext("2d", { alpha: false });
  const boxes: Box[] = [];

  if (!ctx)
    return;
  const [w, h] = [Math.round(width * scale), Math.round(height * scale)];

  if (canvas.width !== w || canvas.height !== h)
    [canvas.width, canvas.height] = [w, h];
  palette = palette || readPalette();
  ctx.setTransform(scale, 0, 0, scale, 0, 0);
  ctx.fillStyle = palette.bg;
  ctx.fillRect(0, 0, width, height);
  draw({ ctx, width, height, colour: palette, boxes });
  (canvas as unknown as { texts: Box[] }).texts = boxes;
}

export function Canvas(props: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const newest = useRef(props);
  const [width, setWidth] = useState(0);
  const [scheme, setScheme] = useState(0);
  const [brush, setBrush] = useState<Rect | null>(null);
  const down = useRef<Point | null>(null);

  newest.current = props;
  useLayoutEffect(() => {
    const place = canvas.current!.parentElement!;
    const measure = () => setWidth(Math.floor(place.clientWidth));
    const watch = new ResizeObserver(measure);
    const recolour = () => setScheme((n) => n + 1);

    measure();
    watch.observe(place);
    watchers.add(recolour);
    return () => {
      watch.disconnect();
      watchers.delete(recolour);
    };
  }, []);
  useLayoutEffect(() => {
    if (width)
      paint(canvas.current!, width, props.height, props.draw);
  }, [width, props.height, props.draw, scheme]);
  useEffect(() => {
    const on = (e: WheelEvent) => {
      if (newest.current.wheel?.(at(e), Math.sign(e.deltaY)))
        e.preventDefault();
    };

    canvas.current!.addEventListener("wheel", on, { passive: false });
    return () => canvas.current?.removeEventListener("wheel", on);
  }, []);

  function at(e: { clientX: number; clientY: number }): Point {
    const r = canvas.current!.getBoundingClientRect();

    return { x: e.clientX - r.left, y: e.clientY - r.top, width: canvas.current!.clientWidth };
  }

  function dragged(to: Point): Rect | null {
    const from = down.current;

    if (!from || !props.select || Math.hypot(to.x - from.x, to.y - from.y) < DRAG_PX)
      return null;
    return {
      width, x0: Math.max(0, Math.min(from.x, to.x)), x1: Math.min(width, Math.max(from.x, to.x)),
      y0: props.whole ? 0 : Math.max(0, Math.min(from.y, to.y)),
      y1: props.whole ? props.height : Math.min(props.height, Math.max(from.y, to.y)),
    };
  }

  function press(e: PointerEvent) {
    if (e.button !== 0)
      return;
    down.current = at(e);
    canvas.current!.setPointerCapture(e.pointerId);
  }

  function drag(e: PointerEvent) {
    if (down.current)
      setBrush(dragged(at(e)));
    props.move?.(at(e));
  }

  function release(e: PointerEvent) {
    const r = dragged(at(e));

    if (r)
      props.select!(r);
    else if (down.current)
      props.click?.(at(e), e.detail > 1);
    down.current = null;
    setBrush(null);
  }

  return (
    <div class="pic">
      <div class="pic-place" style={{ height: `${props.height}px` }}>
        <canvas ref={canvas} tabIndex={0} role="img" aria-label={props.label}
          style={{ width: `${width}px`, height: `${props.height}px` }}
          onPointerDown={press} onPointerMove={drag} onPointerUp={release}
          onPointerCancel={() => { down.current = null; setBrush(null); }}
          onPointerLeave={() => !down.current && props.move?.(null)}
          onDblClick={(e) => props.click?.(at(e), true)}
          onKeyDown={(e) => {
            if (e.ctrlKey || e.altKey || e.metaKey)
              return;
            if (props.keys?.(e.key, e))
              e.preventDefault();
          }} />
        {brush && <div class="brush" style={{ left: `${brush.x0}px`, top: `${brush.y0}px`,
          width: `${brush.x1 - brush.x0}px`, height: `${brush.y1 - brush.y0}px` }} />}
      </div>
      {props.children}
    </div>
  );
}
