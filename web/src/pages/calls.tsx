// SPDX-License-Identifier: GPL-2.0-or-later
/* Calls: which fail, which are slow, and what happened during one. */
import { h } from "preact";
import type { EventAnswer, HeatAnswer } from "../api";
import { useAnswer, useRequest } from "../answer";
import { EventList } from "../eventlist";
import { Explain } from "../explain";
import { Failure } from "../failure";
import { Heat } from "../pic/heat";
import { go, href, useUrl } from "../state";
import { ViewTable } from "../viewtable";
import { Waterfall } from "../waterfall";

/* The call of an event that was chosen in the list. */
function CallOfEvent({ seq }: { seq: string }) {
  const { data, error } = useRequest<EventAnswer>(`/event/${encodeURIComponent(seq)}`, false);
  const id = data && data.event.id;

  if (error)
    return <Failure error={error} />;
  if (!data)
    return <p class="empty">...</p>;
  return typeof id === "string" ? <Waterfall call={id} seq={seq} /> : <p class="empty">event {seq} is not a call</p>;
}

export function Calls() {
  const s = useUrl();
  const { data, error } = useAnswer<HeatAnswer>("/heat/calls", { width: 160, height: 32 });
  const one = s.args.call || s.args.sel;

  return (
    <div class={one ? "two wide" : "one"}>
      <div>
        <Failure error={error} />
        {data && data.times.length > 0 && <Heat label="latency of calls" view="calls" data={data} />}
        <ViewTable name="calls" />
        <h2>calls</h2>
        <EventList view="calls" label="calls" height={260} />
        <details class="alike" open={s.args.explain === "1"}
          onToggle={(e) => e.currentTarget.open !== (s.args.explain === "1") &&
            go({ args: { explain: e.currentTarget.open ? "1" : null } }, true)}>
          <summary>why are calls slow?</summary>{s.args.explain === "1" && <Explain />}</details>
      </div>
      {one && <aside class="box" aria-label="one call">
        <header><h2>one call</h2><a href={href({ args: { call: null, sel: null } })}>close</a></header>
        {s.args.call ? <Waterfall call={s.args.call} /> : <CallOfEvent seq={s.args.sel} />}
      </aside>}
    </div>
  );
}
