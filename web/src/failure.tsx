// SPDX-License-Identifier: GPL-2.0-or-later
/* What went wrong, in the server's sentence, and the one thing that helps. */
import { h, Fragment } from "preact";
import { useState } from "preact/hooks";
import { setToken, type ApiError } from "./api";
import { safe } from "./format";

function Token() {
  const [text, set] = useState("");

  return (
    <form class="token" onSubmit={(e) => {
      e.preventDefault();
      if (setToken(text))
        location.reload();
    }}>
      <p>This page has no valid token. Each start of <code>sonde ui</code> prints an address with a new one: open it,
        or paste it here.</p>
      <label>address or token <input value={text} autocomplete="off" spellcheck={false}
        onInput={(e) => set(e.currentTarget.value)} /></label>
      <button type="submit">use</button>
    </form>
  );
}

export function Failure({ error }: { error: ApiError | null }) {
  if (!error)
    return null;
  if (error.status === 401)
    return <Token />;
  return <p class="failure" role="alert">{safe(error.message)}{error.hint ? ` (${safe(error.hint)})` : ""}{
    error.again &&
    <> <button type="button" onClick={error.again}>ask again</button></>}</p>;
}
