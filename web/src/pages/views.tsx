// SPDX-License-Identifier: GPL-2.0-or-later
/* Any view of the server: its columns over time, its rows. */
import { h } from "preact";
import { useFacts, useView } from "../answer";
import { go, useUrl } from "../state";
import { ViewSeries } from "../viewseries";
import { ViewTable } from "../viewtable";

export function Views() {
  const s = useUrl();
  const { views } = useFacts();
  const view = useView(s.args.view || "") || views[0];

  if (!view)
    return <p class="empty">this sonde has no views</p>;
  return (
    <div class="one">
      <p class="controls"><label>view <select value={view.name}
        onChange={(e) => go({ args: { view: e.currentTarget.value, sort: null, reverse: null } })}>
        {views.map((v) => <option value={v.name}>{v.title}</option>)}
      </select></label></p>
      <ViewSeries name={view.name} columns={view.cols.slice(0, 4).map((c) => c.name)} />
      <ViewTable name={view.name} key={view.name} />
    </div>
  );
}
