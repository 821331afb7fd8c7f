// SPDX-License-Identifier: GPL-2.0-or-later
/* Events: each line that sonde would print, and all of one beside it. */
import { h } from "preact";
import { EventBox } from "../eventbox";
import { EventList } from "../eventlist";
import { useFacts, useView } from "../answer";
import { go, useUrl } from "../state";

export function Events() {
  const s = useUrl();
  const { views } = useFacts();
  const view = useView(s.args.view || "");

  return (
    <div class={s.args.sel ? "two wide" : "one"}>
      <div>
        <p class="controls"><label>events of <select value={view ? view.name : ""}
          onChange={(e) => go({ args: { view: e.currentTarget.value || null, sel: null } })}>
          <option value="">every type</option>
          {views.map((v) => <option value={v.name}>{v.title}</option>)}
        </select></label></p>
        <EventList view={view?.name} label="events" />
      </div>
      {s.args.sel && <EventBox seq={s.args.sel} />}
    </div>
  );
}
