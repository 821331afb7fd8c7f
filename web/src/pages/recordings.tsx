// SPDX-License-Identifier: GPL-2.0-or-later
/* Recordings: what is open and how complete it is, the files beside it, and why calls of the range were slow. */
import { h } from "preact";
import type { Meta, Recording, RecordingsAnswer } from "../api";
import { useFacts, useRequest } from "../answer";
import { Explain } from "../explain";
import { Failure } from "../failure";
import { allDigits, bytes, count, duration, safe } from "../format";
import { Table, type Column } from "../table";
import { day, clock, stamp } from "../time";

function Contents() {
  const facts = useFacts().meta;
  const meta = useRequest<Meta>(facts.live ? "/meta" : null, true).data || facts;
  const whole = meta.begin && meta.end, several = meta.hosts.length > 1;

  return (
    <section aria-label="contents">
      <h2>{meta.live ? `live on ${safe(meta.host)}` : safe(meta.input)}</h2>
      <dl class="facts">
        {meta.hosts.map((one) => <div key={one.name}><dt>{meta.hosts.length > 1 ? safe(one.name) : "kernel"}</dt>
          <dd>{safe(one.kernel)}</dd></div>)}
        <div><dt>events</dt><dd>{allDigits(meta.events)}{meta.gone ? `, ${allDigits(meta.gone)
        } gone` : ""}</dd></div>
        {whole && <div><dt>from</dt><dd>{stamp(BigInt(meta.begin))}</dd></div>}
        {whole && <div><dt>length</dt><dd>{duration(Number(BigInt(meta.end) - BigInt(meta.begin)))}</dd></div>}
        <div><dt>content</dt><dd>{meta.content ? "kept" : "withheld by the agent"}</dd></div>
      </dl>
      <div class="scroll" tabIndex={0}><table><caption>
        records by probe: each one seen is delivered, filtered, sampled or
        lost</caption>
        <thead><tr>{several && <th scope="col">host</th>}<th scope="col">probe</th>
          {["seen", "delivered", "filtered", "sampled", "lost"].map((n) =>
          <th scope="col" class="num">{n}</th>)}</tr></thead>
        <tbody>{meta.ledger.map((l) => <tr>{several && <td>{safe(l.host)}</td>}<th scope="row">{safe(l.probe)}</th>
          {[l.seen, l.delivered, l.filtered, l.sampled, l.lost].map((n) => <td class="num">{
            allDigits(n)}</td>)}</tr>)}</tbody></table></div>
      {meta.lost.some((c) => c.count) && <p class="bad">lost: {meta.lost.filter((c) => c.count).map((c) =>
        `${c.cause} ${c.count}`).join(", ")}</p>}
      <ul class="probes">{meta.probes.map((p) => <li>{safe(p.name)}: {p.running ? "runs" : safe(p.hint) ||
        "not running"}</li>)}</ul>
    </section>
  );
}

const when = (ns: string | undefined) => (ns ? `${day(BigInt(ns))} ${clock(BigInt(ns))}` : "-");

const COLUMNS: Column<Recording>[] = [
  { head: "file", main: true, cell: (f) => safe(f.name) },
  { head: "kind", cell: (f) => safe(f.kind) },
  { head: "size", numeric: true, cell: (f) => bytes(f.bytes) },
  { head: "changed", cell: (f) => when(f.modified || f.end) },
  { head: "events", numeric: true, cell: (f) => (f.events === undefined ? "-" : count(f.events)) },
  { head: "lost", numeric: true, cell: (f) => (f.lost === undefined ? "-" : count(f.lost)) },
];

export function Recordings() {
  const { data, error } = useRequest<RecordingsAnswer>("/recordings", false);
  const known = data?.files.some((f) => f.events !== undefined);

  return (
    <div class="one">
      <Contents />
      <section aria-label="files">
        <Failure error={error} />
        {data && !data.folder && <p class="empty">no folder of recordings was given: sonde ui --folder DIR</p>}
        {data && data.folder && <Table caption={`files in ${safe(data.folder)}; sonde ui -r FILE shows one`}
          columns={known ? COLUMNS : COLUMNS.slice(0, 4)}
          rows={data.files} id={(f) => f.name} empty="no recording in this folder" />}
      </section>
      <h2>why were calls slow in this range?</h2>
      <Explain />
    </div>
  );
}
