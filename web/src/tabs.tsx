// SPDX-License-Identifier: GPL-2.0-or-later
/* Parts of a page, chosen by the argument `tab`: links, so each has its address. */
import { h } from "preact";
import { href } from "./state";

export function Tabs({ list, chosen }: { list: string[][]; chosen: string }) {
  return (
    <nav class="tabs" aria-label="parts of this page"><ul>
      {list.map(([name, title]) => <li><a href={href({ args: { tab: name === list[0][0] ? null : name, sort: null,
        reverse: null } })} aria-current={name === chosen ? "true" : undefined}>{title}</a></li>)}
    </ul></nav>
  );
}
