#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Libraries of the page (web/vendor) and of its tests: sources, unminified, unchanged, each with its licence.

  vendor-web.py                      compare the files with web/vendor/versions.json; exit 1 if they differ
  vendor-web.py --update NAME@VERSION    replace a library by that version of the npm registry (needs npm)

versions.json has for each library its folder, version, licence, the registry's integrity hash of the package, the
folders and files that are taken from it, and the sum of each file.
"""
import argparse
import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "web", "vendor")
VERSIONS = os.path.join(FOLDER, "versions.json")


def load():
    with open(VERSIONS, encoding="utf-8") as f:
        return json.load(f)


def place(name, versions):
    return os.path.join(ROOT, versions[name]["folder"])


def sums(top):
    """{path below the folder @top: SHA-256}."""
    ret = {}
    for folder, _below, files in os.walk(top):
        for file in files:
            path = os.path.join(folder, file)
            with open(path, "rb") as f:
                ret[os.path.relpath(path, top)] = hashlib.sha256(f.read()).hexdigest()
    return dict(sorted(ret.items()))


def differences():
    """Sentences, one for each file that is not the one of its version."""
    versions = load()
    for name in sorted(set(os.listdir(FOLDER)) - set(versions) - {os.path.basename(VERSIONS)}):
        yield f"web/vendor/{name} is not in versions.json"
    for name, row in versions.items():
        here = sums(place(name, versions))
        for path in sorted(set(here) | set(row["sums"])):
            if here.get(path) != row["sums"].get(path):
                yield f"{row['folder']}/{path} is not the file of {name} {row['version']}"


def pack(name, version, folder):
    """The package's archive, compared with the hash that the registry states."""
    row = json.loads(subprocess.run(["npm", "view", f"{name}@{version}", "--json", "dist.integrity", "license"],
                                    capture_output=True, text=True, check=True).stdout)
    done = subprocess.run(["npm", "pack", "--silent", f"{name}@{version}"], cwd=folder, capture_output=True,
                          text=True, check=True)
    archive = os.path.join(folder, done.stdout.split()[-1])
    with open(archive, "rb") as f:
        found = "sha512-" + base64.b64encode(hashlib.sha512(f.read()).digest()).decode()
    if found != row["dist.integrity"]:
        sys.exit(f"vendor-web: {name} {version} has {found}, the registry states {row['dist.integrity']}")
    return archive, found, row["license"]


def update(name, version):
    versions = load()
    if name not in versions:
        sys.exit(f"vendor-web: add a row for {name} to versions.json: its folder, and what to take")
    take, target = versions[name]["take"], place(name, versions)
    with tempfile.TemporaryDirectory() as folder:
        archive, integrity, licence = pack(name, version, folder)
        shutil.rmtree(target, ignore_errors=True)
        with tarfile.open(archive) as files:
            for entry in files:
                path = entry.name.partition("/")[2]
                if entry.isfile() and ".." not in path and any(path == t or t.endswith("/") and path.startswith(t)
                                                               for t in take):
                    to = os.path.join(target, path)
                    os.makedirs(os.path.dirname(to), exist_ok=True)
                    with open(to, "wb") as f:
                        f.write(files.extractfile(entry).read())
    versions[name].update(version=version, licence=licence, integrity=integrity, sums=sums(target))
    with open(VERSIONS, "w", encoding="utf-8") as f:
        json.dump(versions, f, indent=1)
        f.write("\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", metavar="NAME@VERSION")
    args = parser.parse_args()
    if args.update:
        update(*args.update.rsplit("@", 1))
    found = list(differences())
    for sentence in found:
        print(f"vendor-web: {sentence}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
