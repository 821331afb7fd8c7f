// SPDX-License-Identifier: GPL-2.0-or-later
/* Drops: how many over time, by which reason, and each one. */
import { h } from "preact";
import { EventBox } from "../eventbox";
import { EventList } from "../eventlist";
import { useUrl } from "../state";
import { ViewSeries } from "../viewseries";
import { ViewTable } from "../viewtable";

export function Drops() {
  const s = useUrl();

  return (
    <div class={s.args.sel ? "two wide" : "one"}>
      <div>
        <ViewSeries name="drops" columns={["drops", "bytes"]} labels={{ drops: "drops", bytes: "bytes" }} />
        <ViewTable name="drops" />
        <h2>each drop</h2>
        <EventList view="drops" label="drops" height={300} />
      </div>
      {s.args.sel && <EventBox seq={s.args.sel} />}
    </div>
  );
}
