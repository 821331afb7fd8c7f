// SPDX-License-Identifier: GPL-2.0-or-later
/* The frame of every page: bar, pages, status line, keyboard. */
import { h, type JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get, type Meta, type View } from "./api";
import { FactsContext, LIVE_DEFAULT, noteRange, useShown, type Facts } from "./answer";
import { Failure } from "./failure";
import { FilterBox } from "./filterbox";
import { HostBox } from "./hosts";
import { allDigits, percent, plural, safe } from "./format";
import { BINDINGS, step, useKeys } from "./keys";
import { onBeat, type Beat } from "./live";
import { Clock, pan, RangeBox, resume, stop, zoom } from "./rangebox";
import { go, href, isLive, useUrl } from "./state";
import { parseBack } from "./time";
import { Calls } from "./pages/calls";
import { Cpu } from "./pages/cpu";
import { Drops } from "./pages/drops";
import { Events } from "./pages/events";
import { Flows } from "./pages/flows";
import { Overview } from "./pages/overview";
import { Processes } from "./pages/processes";
import { Recordings } from "./pages/recordings";
import { Syscalls } from "./pages/syscalls";
import { Views } from "./pages/views";

const PAGES: { name: string; title: string; page: () => JSX.Element }[] = [
  { name: "overview", title: "Overview", page: Overview },
  { name: "flows", title: "Flows", page: Flows },
  { name: "drops", title: "Drops", page: Drops },
  { name: "calls", title: "Calls", page: Calls },
  { name: "cpu", title: "CPU", page: Cpu },
  { name: "processes", title: "Processes", page: Processes },
  { name: "syscalls", title: "Syscalls", page: Syscalls },
  { name: "events", title: "Events", page: Events },
  { name: "recordings", title: "Recordings", page: Recordings },
  { name: "views", title: "All views", page: Views },
];

function Help({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);

  useEffect(() => dialog.current!.showModal(), []);
  return (
    <dialog ref={dialog} aria-label="keys" onClose={close}>
      <table><caption>Keys</caption><tbody>
        {BINDINGS.map((b) => <tr><th scope="row"><kbd>{b.keys}</kbd></th><td>{b.does}</td></tr>)}
      </tbody></table>
      <form method="dialog"><button type="submit">close</button></form>
    </dialog>
  );
}

function Lost({ beat: { lost, causes } }: { beat: Beat }) {
  const why = causes.map((c) => `${c.cause} ${c.count}`).join(", ");

  return <span class={lost ? "lost bad" : "lost"} title={why || undefined}>lost {allDigits(lost)}</span>;
}

function Status({ meta, beat }: { meta: Meta; beat: Beat }) {
  const now = useShown();
  const off = useUrl() && !!beat.error;
  const early = now.first && now.from && BigInt(now.first) > BigInt(now.from);

  return (
    <p class="status" role="status">
      {off ? <span class="bad">{safe(beat.error)}; trying again</span> : null}
      {now.read !== undefined ? <span>{percent(now.read * 100)} read</span> :
        now.reading ? <span>the recording is being read</span> : null}
      {meta.note ? <span>{safe(meta.note)}</span> : null}
      {early ? <span>the range begins before the oldest event that is kept</span> : null}
    </p>
  );
}

function Keyboard({ help, setHelp, setRange }: { help: boolean; setHelp: (h: boolean) => void;
  setRange: (o: boolean) => void }) {
  const s = useUrl();
  const history = useRef<{ from: string; to: string }[]>([]);

  useEffect(() => {
    const last = history.current[history.current.length - 1];

    if (!last || last.from !== s.from || last.to !== s.to)
      history.current.push({ from: s.from, to: s.to });
  }, [s.from, s.to]);

  function back(): boolean {
    if (s.args.sel) {
      go({ args: { sel: null } });
      return true;
    }
    history.current.pop();
    const last = history.current.pop();

    if (last)
      go(last);
    return !!last;
  }

  useKeys((key) => {
    switch (key) {
    case "w": return zoom(0.5);
    case "s": return zoom(2);
    case "a": return pan(-0.25);
    case "d": return pan(0.25);
    case ".": return step(true);
    case ",": return step(false);
    case "Escape": return !help && back();
    case "?": setHelp(true); return true;
    case "t": setRange(true); return true;
    case "/": document.getElementById("filter")?.focus(); return true;
    default:
      if (/^[1-9]$/.test(key)) {
        go({ page: PAGES[Number(key) - 1].name });
        return true;
      }
      return false;
    }
  });
  return null;
}

function Space() {
  const s = useUrl();
  const live = isLive(s, true);

  useKeys((key, e) => {
    const at = e.target as HTMLElement;

    if (key !== "Space" || /^(BUTTON|SUMMARY|A)$/.test(at.tagName))
      return false;
    if (live)
      stop();
    else
      resume();
    return true;
  });
  return null;
}

/* Until one comes; the only one of a recording. */
function firstBeat(meta: Meta): Beat {
  return { now: "", lost: meta.lost.reduce((n, c) => n + c.count, 0), causes: meta.lost.filter((c) => c.count),
    events: meta.events, gone: meta.gone, error: "" };
}

function Frame({ facts }: { facts: Facts }) {
  const s = useUrl();
  const [beat, setBeat] = useState<Beat>(() => firstBeat(facts.meta));
  const [help, setHelp] = useState(false);
  const [range, setRange] = useState(false);
  const chosen = PAGES.find((p) => p.name === s.page) || PAGES[0];

  useEffect(() => (facts.meta.live ? onBeat(setBeat) : setBeat(firstBeat(facts.meta))), [facts.meta]);
  // Pages that show rows only learn their range here.
  useEffect(() => {
    const { live, begin, end } = facts.meta, back = parseBack(s.from || LIVE_DEFAULT);

    if (isLive(s, live) && beat.now && back !== null)
      noteRange({ from: String(BigInt(beat.now) - back), to: beat.now });
    else if (!live && !s.from && !s.to && begin && end)
      noteRange({ from: begin, to: String(BigInt(end) + 1n) });
  }, [facts, beat.now, s.from, s.to]);
  useEffect(() => {
    document.title = `${chosen.title} - ${safe(facts.meta.host || facts.meta.input)} - sonde`;
  }, [chosen, facts]);
  const inside = (
    <div class="frame">
      <Keyboard help={help} setHelp={setHelp} setRange={setRange} />
      {facts.meta.live && <Space />}
      <header>
        <p class="brand"><b>sonde</b> <HostBox /></p>
        <FilterBox />
        <RangeBox open={range} setOpen={setRange} />
        <Clock beat={beat} />
        <Lost beat={beat} />
        <button type="button" class="help" aria-label="keys" onClick={() => setHelp(true)}>?</button>
      </header>
      <nav aria-label="pages"><ul>
        {PAGES.map((p) => <li><a href={href({ page: p.name })}
          aria-current={p === chosen ? "page" : undefined}>{p.title}</a></li>)}
      </ul></nav>
      <Status meta={facts.meta} beat={beat} />
      <main aria-label={chosen.title} key={chosen.name}><h1 class="sr">{chosen.title}</h1><chosen.page /></main>
      {help && <Help close={() => setHelp(false)} />}
      <footer>{facts.meta.live ? plural(beat.events, "event") + " kept" :
        `${safe(facts.meta.input)}: ${plural(facts.meta.events, "event")}`}
        {beat.gone ? `, ${plural(beat.gone, "older one")} gone` : ""}
        {"; "}{facts.meta.probes.filter((p) => !p.running).map((p) => `${p.name}: ${p.hint || "not running"}`)
          .join("; ") || "all probes run"}; sonde {facts.meta.version}</footer>
    </div>
  );

  return h(FactsContext.Provider, { value: facts }, inside);
}

const RETRY_MS = 1000;

export function App() {
  const [facts, setFacts] = useState<Facts | null>(null);
  const [error, setError] = useState<ApiError | null>(null);

  useEffect(() => {
    let timer = 0;
    const ask = () => Promise.all([get<Meta>("/meta"), get<{ views: View[] }>("/views")]).then(([meta, v]) => {
      setFacts({ meta, views: v.views });
      setError(null);
      if (meta.reading)
        timer = window.setTimeout(ask, RETRY_MS);
    }, (e) => {
      setError(e instanceof ApiError ? e : new ApiError(0, String(e)));
      if (!(e instanceof ApiError) || e.status !== 401)
        timer = window.setTimeout(ask, RETRY_MS);
    });

    ask();
    return () => clearTimeout(timer);
  }, []);
  if (!facts)
    return error ? <main class="alone"><h1>sonde</h1><Failure error={error} /></main> : <p class="alone">...</p>;
  return <Frame facts={facts} />;
}
