// SPDX-License-Identifier: GPL-2.0-or-later
/* Flows: who talks to whom, as rows or as a map. */
import { h } from "preact";
import type { ViewAnswer } from "../api";
import { useAnswer, useView } from "../answer";
import { Failure } from "../failure";
import { FlowMap } from "../pic/flowmap";
import { Tabs } from "../tabs";
import { useUrl } from "../state";
import { ViewSeries } from "../viewseries";
import { InexactNote, ViewTable } from "../viewtable";

const TABS = [["talkers", "by process"], ["map", "map"], ["connections", "connections"], ["ports", "by port"]];
const EDGES = 60;

function Map() {
  const view = useView("talkers");
  const { data, error } = useAnswer<ViewAnswer>(view ? "/view/talkers" : null, { top: EDGES });

  return <div><Failure error={error} />{view && data && <FlowMap view={view} data={data} />}
    {data && <InexactNote rows={data.rows} what="an edge" />}</div>;
}

export function Flows() {
  const s = useUrl();
  const tab = TABS.some(([name]) => name === s.args.tab) ? s.args.tab : "talkers";

  return (
    <div class="one">
      <ViewSeries name="talkers" columns={["sent", "received"]} labels={{ sent: "sent", received: "received" }} />
      <Tabs list={TABS} chosen={tab} />
      {tab === "map" ? <Map /> : <ViewTable name={tab} key={tab} />}
    </div>
  );
}
