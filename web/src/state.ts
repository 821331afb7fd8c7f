// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The page's state is its URL: /PAGE?q=FILTER&from=...&to=...&name=value. from and to are decimal ns, `now`, or
 * relative to the end (`-60s`); without them the page shows its default range: the last minute of a live host, all of
 * a recording. A link to a stopped page shows the same figures on any day.
 */
import { useEffect, useState } from "preact/hooks";
import { parseNs, type Ns, type Range } from "./time";

export interface State {
  page: string;
  q: string;
  from: string;
  to: string;
  args: Record<string, string>; // of this page: sel, sort, mode...
}

export type Change = Partial<Pick<State, "page" | "q" | "from" | "to">> & { args?: Record<string, string | null> };

export function parse(path: string, search: string): State {
  const state: State = { page: path.replace(/^\/+|\/+$/g, "") || "overview", q: "", from: "", to: "", args: {} };

  new URLSearchParams(search).forEach((text, name) => {
    if (name === "q" || name === "from" || name === "to")
      state[name] = text;
    else
      state.args[name] = text;
  });
  return state;
}

export function format(state: State): string {
  const words = new URLSearchParams();

  for (const name of ["q", "from", "to"] as const) {
    if (state[name])
      words.set(name, state[name]);
  }
  for (const name of Object.keys(state.args).sort())
    words.set(name, state.args[name]);
  const search = words.toString();

  return `/${state.page}${search ? `?${search}` : ""}`;
}

/* Arguments belong to their page: one that opens another page keeps filter and range, and those that it names. */
export function changed(state: State, change: Change): State {
  const page = change.page ?? state.page;
  const args = page === state.page ? { ...state.args } : {};

  for (const [name, text] of Object.entries(change.args || {})) {
    if (text === null || text === "")
      delete args[name];
    else
      args[name] = text;
  }
  return { page, q: change.q ?? state.q, from: change.from ?? state.from, to: change.to ?? state.to, args };
}

let current = parse(location.pathname, location.search);
const watchers = new Set<(s: State) => void>();

export function state(): State {
  return current;
}

function announce(next: State): void {
  current = next;
  watchers.forEach((w) => w(next));
}

/* @replace: no new entry of the browser's history, for steps such as the cursor's. */
export function go(change: Change, replace = false): void {
  const next = changed(current, change);
  const url = format(next);

  if (url === location.pathname + location.search)
    return;
  history[replace ? "replaceState" : "pushState"](null, "", url);
  announce(next);
}

export function href(change: Change): string {
  return format(changed(current, change));
}

export function useUrl(): State {
  const [s, set] = useState(current);

  useEffect(() => {
    watchers.add(set);
    set(current);
    return () => {
      watchers.delete(set);
    };
  }, []);
  return s;
}

export function isLive(s: State, live: boolean): boolean {
  return live && (s.to === "" || s.to === "now");
}

export function absolute(s: State): Range | null {
  const from = parseNs(s.from), to = parseNs(s.to);

  return from !== null && to !== null && to > from ? { from, to } : null;
}

export function rangeChange(from: Ns, to: Ns): Pick<State, "from" | "to"> {
  return { from: String(from < 0n ? 0n : from), to: String(to <= from ? from + 1n : to) };
}

window.addEventListener("popstate", () => announce(parse(location.pathname, location.search)));

/* Links of this page change the state without loading it again. */
document.addEventListener("click", (e) => {
  const a = (e.target as Element | null)?.closest?.("a[href]") as HTMLAnchorElement | null;

  if (!a || e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey || a.target)
    return;
  if (a.origin !== location.origin || a.hash)
    return;
  e.preventDefault();
  history.pushState(null, "", a.pathname + a.search);
  announce(parse(a.pathname, a.search));
});
