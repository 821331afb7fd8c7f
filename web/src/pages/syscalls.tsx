// SPDX-License-Identifier: GPL-2.0-or-later
/* Syscalls: how long they take over time, which fail, who makes them. */
import { h } from "preact";
import type { HeatAnswer } from "../api";
import { useAnswer } from "../answer";
import { Failure } from "../failure";
import { Heat } from "../pic/heat";
import { Tabs } from "../tabs";
import { useUrl } from "../state";
import { ViewTable } from "../viewtable";

const TABS = [["syscalls", "by call"], ["errors", "errors"], ["syscall-processes", "by process"], ["files", "files"]];

export function Syscalls() {
  const s = useUrl();
  const { data, error } = useAnswer<HeatAnswer>("/heat/syscalls", { width: 160, height: 32 });
  const tab = TABS.some(([name]) => name === s.args.tab) ? s.args.tab : "syscalls";

  return (
    <div class="one">
      <Failure error={error} />
      {data && data.times.length > 0 && <Heat label="latency of system calls" view="syscalls" data={data} />}
      <Tabs list={TABS} chosen={tab} />
      <ViewTable name={tab} key={tab} />
    </div>
  );
}
