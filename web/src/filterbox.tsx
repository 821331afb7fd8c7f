// SPDX-License-Identifier: GPL-2.0-or-later
/* The filter: completed from the server's fields, checked by its parser, a caret below the byte at fault. */
import { h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { address, get, type Field } from "./api";
import { safe } from "./format";
import { go, useUrl } from "./state";

interface Fault {
  error: string;
  at: number | null; // characters
}

const CHECK_MS = 150;
const SHOWN = 8;

function charsOf(text: string, byteOffset: number): number {
  let left = byteOffset, at = 0;

  for (const c of text) {
    if (left <= 0)
      break;
    left -= new TextEncoder().encode(c).length;
    at += c.length;
  }
  return at;
}

/* The word that the caret ends, if it may be a field: letters, dots, brackets. */
function wordAt(text: string, caret: number): string {
  return /[a-z][a-z0-9_.]*$/.exec(text.slice(0, caret))?.[0] || "";
}

function offers(fields: Field[], word: string): Field[] {
  if (!word)
    return [];
  const begin = fields.filter((f) => f.name.startsWith(word) && f.name !== word);
  const inside = fields.filter((f) => !f.name.startsWith(word) && word.length > 1 && f.name.includes(word));

  return [...begin, ...inside].slice(0, SHOWN);
}

export function FilterBox() {
  const s = useUrl();
  const [text, setText] = useState(s.q);
  const [fields, setFields] = useState<Field[]>([]);
  const [fault, setFault] = useState<Fault | null>(null);
  const [list, setList] = useState<Field[]>([]);
  const [at, setAt] = useState(-1);
  const input = useRef<HTMLInputElement>(null);

  useEffect(() => setText(s.q), [s.q]);
  useEffect(() => {
    get<{ fields: Field[] }>("/fields").then((a) => setFields(a.fields), () => setFields([]));
  }, []);
  useEffect(() => {
    if (!text.trim()) {
      setFault(null);
      return;
    }
    const abort = new AbortController();
    const timer = setTimeout(() => get<{ ok: boolean; error?: string; offset?: number }>(
      address("/check", { q: text }), abort.signal).then((a) => setFault(a.ok ? null : {
        error: a.error || "not a filter", at: a.offset === undefined ? null : charsOf(text, a.offset),
      }), () => undefined), CHECK_MS);

    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);

  function type(value: string, caret: number) {
    setText(value);
    setList(offers(fields, wordAt(value, caret)));
    setAt(-1);
  }

  function accept(f: Field) {
    const caret = input.current!.selectionStart ?? text.length;
    const word = wordAt(text, caret);
    const next = text.slice(0, caret - word.length) + f.name + text.slice(caret);

    setText(next);
    setList([]);
    setAt(-1);
    input.current!.focus();
    requestAnimationFrame(() => {
      const end = caret - word.length + f.name.length;

      input.current?.setSelectionRange(end, end);
    });
  }

  function key(e: KeyboardEvent) {
    const move = { ArrowDown: 1, ArrowUp: -1 }[e.key];

    if (list.length && move) {
      setAt((at + move + list.length + (at < 0 && move < 0 ? 1 : 0)) % list.length);
      e.preventDefault();
    } else if (list.length && at >= 0 && (e.key === "Enter" || e.key === "Tab")) {
      accept(list[at]);
      e.preventDefault();
    } else if (e.key === "Escape") {
      if (list.length) {
        setList([]);
      } else {
        setText(s.q);
        input.current!.blur();
      }
      e.preventDefault();
    }
  }

  return (
    <form class="filter" role="search" onSubmit={(e) => {
      e.preventDefault();
      setList([]);
      if (!fault)
        go({ q: text.trim() });
    }}>
      <input ref={input} id="filter" value={text} role="combobox" aria-label="filter" aria-expanded={!!list.length}
        aria-controls="filter-list" aria-autocomplete="list" aria-invalid={!!fault}
        aria-activedescendant={at >= 0 ? `filter-${at}` : undefined} aria-describedby="filter-fault"
        placeholder="filter: proc.name=nginx and rpc.error" autocomplete="off" autocapitalize="off"
        spellcheck={false} enterkeyhint="go"
        onInput={(e) => type(e.currentTarget.value, e.currentTarget.selectionStart ?? 0)} onKeyDown={key}
        onBlur={() => setTimeout(() => setList([]), 150)} />
      {text && <button type="button" aria-label="clear the filter" onClick={() => { setText(""); go({ q: "" }); }}>
        {"\u00d7"}</button>}
      <ul id="filter-list" role="listbox" aria-label="fields" hidden={!list.length}>
        {list.map((f, i) => (
          <li id={`filter-${i}`} key={f.name} role="option" aria-selected={i === at}
            onPointerDown={(e) => { e.preventDefault(); accept(f); }}>
            <b>{f.name}</b> <span>{safe(f.help)}</span>
          </li>
        ))}
      </ul>
      <div id="filter-fault" class="fault" hidden={!fault} role="status">{fault && <pre>{safe(text)}{"\n"}
        {fault.at === null ? "" : `${" ".repeat(fault.at)}^ `}{safe(fault.error)}</pre>}</div>
    </form>
  );
}
