# SPDX-License-Identifier: GPL-2.0-or-later
"""What the build makes of web/: its size, the same bytes twice, and nothing but the sources here."""
import gzip
import os
import shutil
import subprocess
import sys

import pytest

import answers
from conftest import WEB

FILES = ("app.js", "app.css", "index.html", "icon.svg")
PLAIN_MAX, PACKED_MAX = 150_000, 60_000
TOOL = os.path.join(answers.ROOT, "tools", "bundle-web.py")


def read(*path):
    with open(os.path.join(*path), "rb") as f:
        return f.read()


def test_size():
    assert sum(len(read(WEB, name)) for name in FILES) <= PLAIN_MAX
    assert sum(len(read(WEB, name + ".gz")) for name in FILES) <= PACKED_MAX


def test_compressed_is_the_same():
    for name in FILES:
        assert gzip.decompress(read(WEB, name + ".gz")) == read(WEB, name)
        assert read(WEB, name + ".gz")[4:8] == bytes(4)     # no time (RFC 1952)


@pytest.mark.skipif(not shutil.which("esbuild"), reason="esbuild is not installed")
def test_two_builds_are_equal(tmp_path):
    source = tmp_path / "copy"
    shutil.copytree(os.path.join(answers.ROOT, "web"), source)
    for where in (os.path.join(answers.ROOT, "web"), source):
        subprocess.run([sys.executable, TOOL, "--esbuild", shutil.which("esbuild"), "--source", where, "--out",
                        tmp_path / "out" / os.path.basename(where)], check=True)
    for name in FILES + tuple(f + ".gz" for f in FILES):
        assert read(tmp_path, "out", "web", name) == read(tmp_path, "out", "copy", name)


def test_no_address_of_another_host():
    text = read(WEB, "app.js") + read(WEB, "app.css") + read(WEB, "index.html") + read(WEB, "icon.svg")
    allowed = (b"http://www.w3.org/",)      # names of XML namespaces
    for scheme in (b"http://", b"https://", b"//cdn"):
        at = text.find(scheme)
        while at >= 0:
            assert text[at:at + 40].startswith(allowed), text[at:at + 60]
            at = text.find(scheme, at + 1)
