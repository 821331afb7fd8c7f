// SPDX-License-Identifier: GPL-2.0-or-later
/* What of the page waits for its first answer: <main> is aria-busy until then. */
let waiting = 0;

function mark(): void {
  document.querySelector("main")?.setAttribute("aria-busy", String(waiting > 0));
}

/* One more answer to wait for. The function that comes back ends the wait; calls after the first do nothing. */
export function waitForAnswer(): () => void {
  let open = true;

  waiting++;
  mark();
  return () => {
    if (!open)
      return;
    open = false;
    waiting--;
    mark();
  };
}
