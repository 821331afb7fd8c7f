#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints the bill of materials of the tree at HEAD: SPDX 2.3, JSON.   sbom.py >FILE

Files have the licence of their SPDX line. Packages: sonde, the libraries that its .deb holds, the tools that made it.
The same commit on the same packages gives the same text. Format: spdx.github.io/spdx-spec/v2.3.
"""
import datetime
import hashlib
import io
import json
import os
import re
import subprocess
import tarfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LICENCE = re.compile(r"SPDX-License-Identifier: ([A-Za-z0-9.+ -]+?)\s*(?:\*/|-->)?$", re.M)
DEFAULT = "GPL-2.0-or-later"
HEAD_LINES = 3
# Debian package: licence by its copyright file, and how sonde uses it
HELD = {"libbpf-dev": "LGPL-2.1-only OR BSD-2-Clause", "libdw-dev": "GPL-2.0-or-later OR LGPL-3.0-or-later",
        "libelf-dev": "GPL-2.0-or-later OR LGPL-3.0-or-later", "libiberty-dev": "LGPL-2.0-or-later"}
TOOLS = ("gcc", "clang", "bpftool", "meson", "ninja-build", "esbuild")
VENDORED = {"web/vendor/": "MIT", "tests/ui/vendor/": "MPL-2.0"}     # sources of libraries, unchanged


def run(*words):
    return subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout


def version():
    with open(os.path.join(ROOT, "meson.build"), encoding="utf-8") as f:
        return re.search(r"version: '([^']+)'", f.read())[1]


def debian_version(package):
    return run("dpkg-query", "-W", "-f", "${Version}", package).decode()


def licence_of(path, body):
    for folder, licence in VENDORED.items():
        if path.startswith(folder):
            return licence
    head = b"\n".join(body.split(b"\n")[:HEAD_LINES]).decode("utf-8", "replace")
    found = LICENCE.search(head)
    return found[1] if found else "NOASSERTION"


def entries():
    """(path, bytes) of each file of the commit; a link's bytes are its target."""
    with tarfile.open(fileobj=io.BytesIO(run("git", "archive", "HEAD"))) as archive:
        for entry in archive:
            if entry.isfile():
                yield entry.name, archive.extractfile(entry).read()
            elif entry.issym():
                yield entry.name, entry.linkname.encode()


def file_rows():
    rows = []
    for number, (path, body) in enumerate(entries()):
        licence = licence_of(path, body)
        rows.append({
            "SPDXID": f"SPDXRef-File-{number}", "fileName": "./" + path,
            "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(body).hexdigest()},
                          {"algorithm": "SHA256", "checksumValue": hashlib.sha256(body).hexdigest()}],
            "licenseInfoInFiles": sorted(set(licence.split(" OR "))),
            "licenseConcluded": DEFAULT if licence == "NOASSERTION" else licence, "copyrightText": "NOASSERTION"})
    return rows


def debian_row(package, licence):
    number = debian_version(package)
    return {"SPDXID": f"SPDXRef-Package-{package}", "name": package, "versionInfo": number,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": licence,
            "licenseDeclared": licence, "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:deb/debian/{package}@{number.replace(':', '%3A')}"}]}


def sonde_row(files):
    sums = sorted(f["checksums"][0]["checksumValue"] for f in files)
    return {"SPDXID": "SPDXRef-Package-sonde", "name": "sonde", "versionInfo": version(),
            "downloadLocation": "NOASSERTION", "filesAnalyzed": True,
            "packageVerificationCode": {
                "packageVerificationCodeValue": hashlib.sha1("".join(sums).encode()).hexdigest()},
            "licenseInfoFromFiles": sorted({one for f in files for one in f["licenseInfoInFiles"]}),
            "licenseConcluded": DEFAULT, "licenseDeclared": DEFAULT, "copyrightText": "NOASSERTION"}


def relation(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def main():
    files = file_rows()
    sonde = sonde_row(files)
    packages = [sonde] + [debian_row(name, licence) for name, licence in HELD.items()]
    packages += [debian_row(name, "NOASSERTION") for name in TOOLS]
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", sonde["SPDXID"])]
    relations += [relation(sonde["SPDXID"], "CONTAINS", f["SPDXID"]) for f in files]
    relations += [relation(sonde["SPDXID"], "STATIC_LINK", f"SPDXRef-Package-{name}") for name in HELD]
    relations += [relation(f"SPDXRef-Package-{name}", "BUILD_TOOL_OF", sonde["SPDXID"]) for name in TOOLS]
    made = datetime.datetime.fromtimestamp(int(run("git", "log", "-1", "--format=%ct")), datetime.timezone.utc)
    commit = run("git", "rev-parse", "HEAD").decode().strip()
    print(json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"sonde-{version()}", "documentNamespace": f"https://spdx.org/spdxdocs/sonde-{version()}-{commit}",
        "creationInfo": {"created": made.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: sonde-sbom"]},
        "packages": packages, "files": files, "relationships": relations}, indent=1))


main()
