// SPDX-License-Identifier: GPL-2.0-or-later
/* Where slow calls of each operation spend more time than its normal ones, as `sonde explain` answers. */
import { h, Fragment } from "preact";
import { useState } from "preact/hooks";
import type { ExplainAnswer, Operation } from "./api";
import { useAnswer } from "./answer";
import { Failure } from "./failure";
import { equals, both } from "./filter";
import { duration, percent, plural, safe } from "./format";
import { href, useUrl } from "./state";

/* What the named causes leave, and the sum of all: the rows add up to the difference of the means. */
function Rest({ op }: { op: Operation }) {
  const excess = op.slow_ns - op.normal_ns;
  const rows: [string, number | undefined][] = [["other causes, none certain", op.other_ns],
    ["unknown", op.unknown_ns], ["all", excess]];

  return (
    <>{rows.map(([name, ns]) => ns !== undefined && <tr class="foot"><th scope="row">{name}</th>
      <td class="num">{duration(ns)}</td><td class="num"><Share ns={ns} of={excess} /></td><td /><td /></tr>)}</>
  );
}

function Share({ ns, of }: { ns: number; of: number }) {
  const part = (100 * ns) / Math.max(1, of);

  return (
    <><i class="bar" style={{ width: `${Math.min(100, Math.max(0, part))}%` }} /><span>{
      ns < 0 ? `-${percent(-part)}` : percent(part)}</span></>
  );
}

function One({ op }: { op: Operation }) {
  const s = useUrl();
  const excess = op.slow_ns - op.normal_ns;
  const compared = op.unknown_ns !== undefined;
  const q = both(s.q, equals("rpc.name", op.method));

  return (
    <section class="operation" aria-label={safe(op.method)}>
      <h3><a data-step href={href({ page: "calls", q })}>{safe(op.method)}</a></h3>
      <p>{plural(op.calls, "call")}, {op.failed} failed; {op.slow} slow ({duration(op.slow_ns)} on average),
        {" "}{op.normal} normal ({duration(op.normal_ns)})</p>
      {op.silence && <p class="empty">{safe(op.silence)}</p>}
      {compared && <div class="scroll"><table><caption>time that slow calls spend more</caption>
        <thead><tr><th scope="col">cause</th><th scope="col" class="num">more</th><th scope="col" class="num">of the
          excess</th><th scope="col">between</th><th scope="col">calls</th></tr></thead>
        <tbody>{op.causes.map((c) => <tr>
          <th scope="row">{safe(c.cause)}{c.why.map((w) => <p class="why">{safe(w.text)}: {duration(w.ns)} in {
            plural(w.calls, "call")}</p>)}</th>
          <td class="num">{duration(c.more_ns)}</td>
          <td class="num"><Share ns={c.more_ns} of={excess} /></td>
          <td>{duration(c.low_ns)} - {duration(c.high_ns)}</td>
          <td class="links">{c.calls.map((id) => <a href={href({ page: "calls", args: { call: id } })}>{id}</a>)}</td>
        </tr>)}
        <Rest op={op} /></tbody></table></div>}
    </section>
  );
}

export function Explain() {
  const [failed, setFailed] = useState(false);
  const { data, error, busy } = useAnswer<ExplainAnswer>("/explain", { failed: failed ? 1 : "" });

  return (
    <section aria-label="causes" aria-busy={busy}>
      <p class="controls"><label><input type="checkbox" checked={failed}
        onChange={(e) => setFailed(e.currentTarget.checked)} /> failed calls against normal ones</label></p>
      <Failure error={error} />
      {data?.operations.map((op) => <One key={op.method} op={op} />)}
      {data && !data.operations.length && <p class="empty">no call of this filter in this range</p>}
    </section>
  );
}
