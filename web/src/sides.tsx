// SPDX-License-Identifier: GPL-2.0-or-later
/* Both sides of a call, also of two hosts, and the network time between them. */
import { h } from "preact";
import type { SidesAnswer } from "./api";
import { type Answer, useRequest } from "./answer";
import { Failure } from "./failure";
import { duration, safe } from "./format";
import { href } from "./state";

export function useSides(call: string): Answer<SidesAnswer> {
  return useRequest<SidesAnswer>(`/sides?call=${encodeURIComponent(call)}`, false);
}

export function Sides({ call, answer: { data, error } }: { call: string; answer: Answer<SidesAnswer> }) {
  if (!data)
    return error ? <Failure error={error} /> : null;
  return (
    <table class="sides"><caption>both sides{data.joined_by && `, joined by the ${safe(data.joined_by)}`}</caption>
      <thead><tr><th scope="col">side</th><th scope="col">host</th><th scope="col">process</th>
        <th scope="col" class="num">latency</th></tr></thead>
      <tbody>{data.sides.map((s) => <tr><th scope="row">{s.call && s.call !== call ?
        <a href={href({ args: { call: s.call, sel: null } })}>{safe(s.side)}</a> : safe(s.side)}</th>
        <td>{safe(s.host)}</td><td>{safe(s.process)}[{s.pid}]</td>
        <td class="num">{s.latency === undefined ? "unknown" : duration(s.latency)}</td></tr>)}
      <tr class="foot"><th scope="row">network</th>
        <td colSpan={2}>{data.network === null ? safe(data.why) : "the client's latency minus the server's"}</td>
        <td class="num">{data.network === null ? "unknown" : duration(data.network)}</td></tr></tbody></table>
  );
}
