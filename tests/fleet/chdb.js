// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ClickHouse's engine of npm's chdb behind the part of its HTTP interface that sonde uses: chdb.js FOLDER ADDRESS
 * PORT. One statement at a time. Insert bodies pass unchanged, by a file.
 */
"use strict";
const fs = require("fs");
const http = require("http");
const { Session } = require("chdb");

const [folder, address, port] = process.argv.slice(2);
const session = new Session(`${folder}/data`);
let last = Promise.resolve();
let n = 0;

async function run(url, body) {
  const database = url.searchParams.get("database") || "default";
  const query = url.searchParams.get("query");
  const sql = (query ? query : body.toString()).trim().replace(/;$/, "");
  const insert = query && /^INSERT\b/i.test(sql) && /^(.*)\sFORMAT\s+(\w+)$/is.exec(sql);
  const file = `${folder}/body-${++n}`;

  if (database !== "default")
    await session.queryAsync(`USE ${database}`);
  else
    await session.queryAsync("USE default");
  if (!insert)
    return Buffer.from((await session.queryAsync(sql, { format: "TabSeparated" })).bytes());
  fs.writeFileSync(file, body);
  try {
    await session.queryAsync(`${insert[1]} FROM INFILE '${file}' FORMAT ${insert[2]}`);
  } finally {
    fs.unlinkSync(file);
  }
  return Buffer.alloc(0);
}

http.createServer((request, response) => {
  const chunks = [];

  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    last = last.then(() => run(new URL(request.url, "http://x"), Buffer.concat(chunks))).then(
      (answer) => response.writeHead(200).end(answer),
      (e) => response.writeHead(500).end(`${e.message || e}\n`));
  });
}).listen(Number(port), address);
