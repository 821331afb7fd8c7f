// SPDX-License-Identifier: GPL-2.0-or-later
/* One event: all its fields, its stack, its bytes, and where it leads. */
import { h } from "preact";
import type { EventAnswer } from "./api";
import { useRequest } from "./answer";
import { Failure } from "./failure";
import { safe } from "./format";
import { go, href, type Change } from "./state";
import { stamp } from "./time";

const HEX_LINE = 16;
const HEX_MAX = 4096; // bytes shown

/* Members as dotted names, lists joined: {"proc":{"pid":1}} is proc.pid = 1. */
export function flatten(value: unknown, name = ""): [string, string][] {
  if (value !== null && typeof value === "object" && !Array.isArray(value))
    return Object.entries(value).flatMap(([key, v]) => flatten(v, name ? `${name}.${key}` : key));
  if (Array.isArray(value))
    return [[name, value.map((v) => (typeof v === "object" ? JSON.stringify(v) : String(v))).join(", ")]];
  return [[name, String(value)]];
}

function Hex({ hex }: { hex: string }) {
  const bytes = (hex.slice(0, HEX_MAX * 2).match(/../g) || []).map((b) => parseInt(b, 16));
  const lines: string[] = [];

  for (let at = 0; at < bytes.length; at += HEX_LINE) {
    const part = bytes.slice(at, at + HEX_LINE);
    const digits = part.map((b) => b.toString(16).padStart(2, "0")).join(" ").padEnd(HEX_LINE * 3 - 1);
    const letters = part.map((b) => (b >= 32 && b < 127 ? String.fromCharCode(b) : ".")).join("");

    lines.push(`${at.toString(16).padStart(4, "0")}  ${digits}  ${letters}`);
  }
  return (
    <details open><summary>{hex.length / 2} bytes</summary>
      <pre class="scroll" tabIndex={0}>{lines.join("\n")}{hex.length / 2 > HEX_MAX ? "\n..." : ""}</pre></details>
  );
}

/* Addresses of the server ("/processes") as a change of the page's state. */
export function linkChange(page: string, q: string): Change {
  const name = page.replace(/^\//, "").split("?")[0];

  return { page: name || "events", q, args: {} };
}

export function EventBox({ seq }: { seq: string }) {
  const { data, error } = useRequest<EventAnswer>(`/event/${encodeURIComponent(seq)}`, false);
  const time = data && (data.event.ts as string | undefined);

  return (
    <aside class="box" aria-label={`event ${seq}`}>
      <header><h2>event {seq}</h2>
        <button type="button" onClick={() => go({ args: { sel: null } })}>close</button></header>
      <Failure error={error} />
      {data && <p class="said">{safe(data.text)}</p>}
      {data && data.links.length > 0 && <ul class="links">{data.links.map((l) => (
        <li><a data-step href={href(linkChange(l.page, l.q))}>{l.what}: {safe(l.label)}</a></li>))}</ul>}
      {data && typeof data.event.id === "string" && String(data.event.type).startsWith("rpc.call") &&
        <p><a href={href({ page: "calls", args: { call: data.event.id } })}>what happened during this call</a></p>}
      {data?.stack && <details open><summary>stack</summary><ol class="stack">{data.stack.map((f) => (
        <li class={`part${f.part}`}>{safe(f.name)}</li>))}</ol></details>}
      {data?.bytes && <Hex hex={data.bytes} />}
      {data && <table><caption>fields{time ? `, ${stamp(BigInt(time))}` : ""}</caption><tbody>
        {flatten(data.event).map(([name, value]) => <tr><th scope="row">{safe(name)}</th><td>{safe(value)}</td></tr>)}
      </tbody></table>}
    </aside>
  );
}
