#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Bundles the page of web/ with esbuild: one script, one style sheet, document and icon, each also compressed.

  bundle-web.py --esbuild PROGRAM --source web --out FOLDER [--depfile FILE --target NAME]

The same sources and the same esbuild give the same bytes: names are sorted, gzip has no time and no name.
"""
import argparse
import gzip
import json
import os
import shutil
import subprocess
import tempfile

LICENCE = "/* sonde, GPL-2.0-or-later; with preact, MIT, Copyright (c) 2015-present Jason Miller */"
ENTRIES = {"app.js": ["src/main.tsx", "--format=iife", "--target=es2020",
                       f"--banner:js={LICENCE}"], "app.css": ["css/app.css"]}
COPIES = ["index.html", "icon.svg"]


def bundle(esbuild, source, out):
    """Writes the bundle of each entry; returns the files that esbuild read, relative to @source."""
    read = set()
    with tempfile.TemporaryDirectory() as folder:
        meta = os.path.join(folder, "meta.json")
        for name, (entry, *options) in ENTRIES.items():
            subprocess.run([esbuild, entry, "--bundle", "--minify", "--charset=utf8", "--legal-comments=none",
                            "--log-level=warning", *options, f"--outfile={os.path.join(out, name)}",
                            f"--metafile={meta}"], cwd=source, check=True)
            with open(meta, encoding="utf-8") as f:
                read.update(json.load(f)["inputs"])
    return sorted(read)


def compress(path):
    with open(path, "rb") as plain, open(path + ".gz", "wb") as packed:
        with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=packed, mtime=0) as z:
            z.write(plain.read())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--esbuild", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--depfile")
    parser.add_argument("--target", default="app.js")
    args = parser.parse_args()
    out, source = os.path.abspath(args.out), os.path.abspath(args.source)
    os.makedirs(out, exist_ok=True)
    read = bundle(args.esbuild, source, out)
    for name in COPIES:
        shutil.copyfile(os.path.join(source, name), os.path.join(out, name))
    for name in [*ENTRIES, *COPIES]:
        compress(os.path.join(out, name))
    if args.depfile:
        with open(args.depfile, "w", encoding="utf-8") as f:
            f.write(f"{args.target}: {' '.join(os.path.join(source, path) for path in read)}\n")


if __name__ == "__main__":
    main()
