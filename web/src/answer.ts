// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hooks: an answer of the server for the filter and range of the page, live or once; the facts of /meta and /views.
 */
import { createContext } from "preact";
import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, address, get, type Meta, type Ranged, type View, type Words } from "./api";
import { waitForAnswer } from "./busy";
import { both } from "./filter";
import { subscribe } from "./live";
import { isLive, useUrl, type State } from "./state";

export const LIVE_DEFAULT = "-60s";

export interface Facts {
  meta: Meta;
  views: View[];
}

export const FactsContext = createContext<Facts>(null as unknown as Facts);

export function useFacts(): Facts {
  return useContext(FactsContext);
}

export function useView(name: string): View | undefined {
  return useFacts().views.find((v) => v.name === name);
}

export interface Answer<T> {
  data: T | null; // the newest; stays while the next one is on its way
  error: ApiError | null;
  busy: boolean;
}

/* Range and filter as the server takes them. @clause joins the page's filter. */
export function common(s: State, live: boolean, clause?: string | null): Words {
  return {
    q: both(s.q, clause),
    from: s.from || (live ? LIVE_DEFAULT : ""),
    to: s.to || (live ? "now" : ""),
  };
}

/* The range of the newest answer: what "stop" freezes, and where relative times end. */
export const shown = { from: "", to: "", first: "", read: undefined as number | undefined, reading: false };
const shownWatchers = new Set<() => void>();

export function noteRange(r: Partial<Ranged>): void {
  if (!r.from || !r.to)
    return;
  const same = shown.from === r.from && shown.to === r.to && shown.read === r.read && shown.reading === !!r.reading;

  shown.from = r.from;
  shown.to = r.to;
  shown.first = r.first || "";
  shown.read = r.read;
  shown.reading = !!r.reading;
  if (!same)
    shownWatchers.forEach((w) => w());
}

export function useShown(): typeof shown {
  const [, redraw] = useState(0);

  useEffect(() => {
    const w = () => redraw((n) => n + 1);

    shownWatchers.add(w);
    return () => {
      shownWatchers.delete(w);
    };
  }, []);
  return shown;
}

const READING_MS = 500; // a recording that is still being read is asked again

/* @path null: nothing is asked. @live: the stream sends it again as it changes. @note: its range is the page's. */
export function useRequest<T>(path: string | null, live: boolean, note = false): Answer<T> {
  const [answer, set] = useState<Answer<T>>({ data: null, error: null, busy: !!path });
  const kind = useRef("");

  useEffect(() => {
    if (!path) {
      set({ data: null, error: null, busy: false });
      return;
    }
    // An answer of another path (another view, another call) is not shown under this one's name.
    const same = kind.current === path.split("?")[0];

    kind.current = path.split("?")[0];
    set((a) => ({ data: same ? a.data : null, error: null, busy: true }));
    const answered = waitForAnswer();
    const take = (data: unknown) => {
      answered();
      if (note)
        noteRange(data as Partial<Ranged>);
      set({ data: data as T, error: null, busy: false });
    };
    const fail = (error: ApiError) => {
      answered();
      set((a) => ({ data: a.data, error, busy: false }));
    };

    if (live) {
      const leave = subscribe(path, { take, fail });

      return () => {
        answered();
        leave();
      };
    }
    const abort = new AbortController();
    let timer = 0, asked = 0; // the answer to the last question is shown, whichever comes last
    const ask = () => {
      const mine = ++asked;

      return get<T>(path, abort.signal).then((data) => {
        if (mine !== asked)
          return;
        take(data);
        if ((data as unknown as Ranged).reading || (data as unknown as Ranged).read !== undefined)
          timer = window.setTimeout(ask, READING_MS);
      }, (e) => {
        if (abort.signal.aborted || mine !== asked)
          return;
        const error = e instanceof ApiError ? e : new ApiError(0, String(e));

        if (error.status === 503)
          error.again = ask;
        fail(error);
      });
    };

    ask();
    return () => {
      answered();
      clearTimeout(timer);
      abort.abort();
    };
  }, [path, live]);
  return answer;
}

/* The answer of @path for the page's filter (and @clause) and range. */
export function useAnswer<T>(path: string | null, words: Words = {}, clause?: string | null): Answer<T> {
  const s = useUrl();
  const { meta } = useFacts();
  const full = useMemo(() => path && address(path, { ...common(s, meta.live, clause), ...words }),
    [path, s.q, s.from, s.to, clause, JSON.stringify(words), meta.live]);

  return useRequest<T>(full, isLive(s, meta.live), true);
}
