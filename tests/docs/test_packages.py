# SPDX-License-Identifier: GPL-2.0-or-later
"""Packages, release and manifest against the tree: `make packages` builds and installs them."""
import hashlib
import json
import os
import re
import subprocess

from conftest import ROOT


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def build_packages():
    listed = subprocess.run([os.path.join(ROOT, "tools", "setup.sh"), "--list", "build"], capture_output=True,
                            text=True, check=True).stdout.split()
    # Build essentials, and meson brings ninja.
    return set(listed) - {"gcc", "libc6-dev", "make", "ninja-build", "python3"}


def test_the_package_needs_what_the_tree_needs():
    block = re.search(r"^Build-Depends: (.*?)^\S", read("debian/control"), re.M | re.S)[1]
    needed = {re.split(r"[ :(]", line.strip())[0] for line in block.split(",") if line.strip()}
    assert needed - {"debhelper-compat", "dh-sequence-installsysusers", "python3"} == build_packages()


def test_messages_about_missing_libraries_name_recommended_packages():
    named = {}
    for folder, _, names in os.walk(os.path.join(ROOT, "src")):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".c"):
                named.update(dict.fromkeys(re.findall(r'\.package = "([^"]+)"', read(path)), path))
    block = re.search(r"^Recommends: (.*?)^\S", read("debian/control"), re.M | re.S)[1]
    first = {line.split("|")[0].strip() for line in block.split(",") if line.strip()}
    assert set(named) == first, named


def test_one_version():
    version = re.search(r"version: '([^']+)'", read("meson.build"))[1]
    assert read("debian/changelog").startswith(f"sonde ({version})")
    assert f"image: sonde:{version}" in read("contrib/kubernetes/sonde.yaml")


def test_pods_have_the_rights_of_the_unit():
    service = read("contrib/systemd/sonde-agent.service")
    unit = re.search(r"^CapabilityBoundingSet=(.*?[^\\])$", service, re.M | re.S)[1]
    manifest = read("contrib/kubernetes/sonde.yaml")
    added = re.search(r"add: \[(.*)\]", manifest)[1]
    assert {f"CAP_{name}" for name in added.split(", ")} == set(re.findall(r"CAP_\w+", unit))
    assert "drop: [ALL]" in manifest and "privileged: true" not in manifest


def test_bill_of_materials():
    sbom = json.loads(subprocess.run([os.path.join(ROOT, "tools", "sbom.py")], capture_output=True, text=True,
                                     check=True).stdout)
    ids = [row["SPDXID"] for row in sbom["packages"] + sbom["files"]] + [sbom["SPDXID"]]
    assert len(ids) == len(set(ids))
    for row in sbom["relationships"]:
        assert {row["spdxElementId"], row["relatedSpdxElement"]} <= set(ids)
    committed = subprocess.run(["git", "ls-tree", "-r", "--name-only", "-z", "HEAD"], cwd=ROOT, capture_output=True,
                               text=True, check=True).stdout.rstrip("\0").split("\0")
    assert {f"./{path}" for path in committed} == {f["fileName"] for f in sbom["files"]}
    licence = next(f for f in sbom["files"] if f["fileName"] == "./LICENSES/BSD-2-Clause.txt")
    body = subprocess.run(["git", "cat-file", "blob", "HEAD:LICENSES/BSD-2-Clause.txt"], cwd=ROOT,
                          capture_output=True, check=True).stdout
    assert licence["checksums"][0]["checksumValue"] == hashlib.sha1(body).hexdigest()
