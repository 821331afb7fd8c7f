// SPDX-License-Identifier: GPL-2.0-or-later
/* Several hosts on one page: the host is a clause of the filter, host=NAME. */
import { h } from "preact";
import { useFacts } from "./answer";
import { both, equals } from "./filter";
import { safe } from "./format";
import { go, useUrl } from "./state";

const CLAUSE = /^host=("(?:\\.|[^"\\])*"|[^\s()]+)(?: and |$)/;

/* The filter begins with the host where this page put it. */
export function hostOf(q: string, names: string[]): string {
  const found = CLAUSE.exec(q);

  return names.find((n) => found && found[0].startsWith(equals("host", n)) &&
    found[1] === equals("host", n).slice(5)) || "";
}

export function withHost(q: string, name: string): string {
  const rest = q.replace(CLAUSE, "");

  return name ? both(equals("host", name), rest) : rest.replace(/^\((.*)\)$/, "$1");
}

export function useHosts(): string[] {
  const { meta } = useFacts();

  return meta.hosts.length > 1 ? meta.hosts.map((one) => one.name) : [];
}

export function HostBox() {
  const { meta } = useFacts();
  const names = useHosts(), s = useUrl();

  if (!names.length)
    return <span title={safe(meta.kernel)}>{safe(meta.host)}</span>;
  return (
    <select aria-label="host" value={hostOf(s.q, names)}
      onChange={(e) => go({ q: withHost(s.q, e.currentTarget.value) })}>
      <option value="">{names.length} hosts</option>
      {names.map((n) => <option value={n}>{safe(n)}</option>)}
    </select>
  );
}
