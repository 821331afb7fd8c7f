// SPDX-License-Identifier: GPL-2.0-or-later
/* Keyboard: one table of what each key does, shown by `?`. A focused canvas takes its keys first. */
import { useEffect, useRef } from "preact/hooks";

export interface Binding {
  keys: string; // as KeyboardEvent.key, several separated by blanks
  does: string;
}

export const BINDINGS: Binding[] = [
  { keys: "w s", does: "zoom in, zoom out" },
  { keys: "a d", does: "earlier, later (a focused picture: left, right)" },
  { keys: ". ,", does: "next, previous row, cell or frame" },
  { keys: "f", does: "zoom to the selection" },
  { keys: "Enter", does: "open the selected row, cell or frame" },
  { keys: "Escape", does: "drop the selection, then the last zoom" },
  { keys: "Space", does: "stop the clock, resume" },
  { keys: "/", does: "edit the filter" },
  { keys: "t", does: "edit the time range" },
  { keys: "1 - 9", does: "the page of that number" },
  { keys: "?", does: "this list" },
];

function typing(e: KeyboardEvent): boolean {
  const at = e.target as HTMLElement | null;

  return !!at && (at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName));
}

/* @take: returns true for a key that it used. Not called while the user types, or with Ctrl, Alt, Meta. */
export function useKeys(take: (key: string, e: KeyboardEvent) => boolean): void {
  const newest = useRef(take);

  newest.current = take;
  useEffect(() => {
    const on = (e: KeyboardEvent) => {
      if (e.defaultPrevented || e.ctrlKey || e.altKey || e.metaKey || typing(e))
        return;
      if (newest.current(e.key === " " ? "Space" : e.key, e))
        e.preventDefault();
    };

    document.addEventListener("keydown", on);
    return () => document.removeEventListener("keydown", on);
  }, []);
}

/* Keys of rows: . and , move the focus among links marked data-step, in the order of the page. */
export function step(forward: boolean): boolean {
  const all = [...document.querySelectorAll<HTMLElement>("[data-step]")].filter((e) => e.offsetParent !== null);
  const at = all.indexOf(document.activeElement as HTMLElement);
  const next = all[at < 0 ? (forward ? 0 : all.length - 1) : at + (forward ? 1 : -1)];

  next?.focus();
  return !!next;
}
