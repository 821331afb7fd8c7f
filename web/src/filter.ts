// SPDX-License-Identifier: GPL-2.0-or-later
/* Filters are text in sonde's event words; only the server parses them. The page joins clauses and quotes values. */

const BARE = /^[A-Za-z0-9_.:\/@+-]+$/;
const WORDS = new Set(["and", "or", "not", "in", "exists", "contains", "icontains", "startswith", "endswith", "glob",
  "intersects", "pmatch", "bcontains", "bstartswith"]);

export function quote(text: string): string {
  if (BARE.test(text) && !WORDS.has(text))
    return text;
  const body = text.replace(/[\\"]/g, "\\$&").replace(/[\u0000-\u001f\u007f]/g,
    (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`);

  return `"${body}"`;
}

export function equals(field: string, text: string): string {
  return `${field}=${quote(text)}`;
}

/* Clauses joined by "and"; one that holds an "or" gets brackets. Empty ones are left out, and those there twice. */
export function both(...clauses: (string | null | undefined)[]): string {
  const used: string[] = [];

  for (const clause of clauses) {
    const text = (clause || "").trim();

    if (text && !used.includes(text))
      used.push(text);
  }
  if (used.length < 2)
    return used[0] || "";
  return used.map((c) => (/\bor\b/i.test(c.replace(/"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/g, "")) ? `(${c})` : c))
    .join(" and ");
}
