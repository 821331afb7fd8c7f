# SPDX-License-Identifier: GPL-2.0-or-later
"""An apt of its own: packages of other suites and other architectures are fetched and unpacked, never installed.

Sources are derived from the package source that this machine uses. Signatures and checksums are apt's business, and
the machine's package state is not touched.
"""
import glob
import os
import subprocess

TOOLS = os.path.dirname(os.path.abspath(__file__))


class Unavailable(Exception):
    """Packages cannot be had here; the text says why."""


def run(*words, **options):
    return subprocess.run(words, check=True, capture_output=True, text=True, **options)


def entry_of(suite):
    try:
        return run(os.path.join(TOOLS, "apt-suite.sh"), suite).stdout
    except subprocess.CalledProcessError as e:
        raise Unavailable(e.stderr.strip()) from e


class Apt:
    """@folder keeps lists and packages between runs."""

    def __init__(self, folder, suites, arch):
        self.folder = folder
        for name in ("lists/partial", "cache/archives/partial", "sources"):
            os.makedirs(os.path.join(folder, name), exist_ok=True)
        for old in glob.glob(f"{folder}/sources/*"):
            os.unlink(old)
        for suite in suites:
            entry = entry_of(suite)
            name = f"{suite}.list" if entry.startswith("deb ") else f"{suite}.sources"
            with open(os.path.join(folder, "sources", name), "w", encoding="utf-8") as f:
                f.write(entry)
        conf = os.path.join(folder, "apt.conf")
        with open(conf, "w", encoding="utf-8") as f:
            f.write(f'''Dir::State "{folder}";
Dir::State::Lists "{folder}/lists";
Dir::State::status "/dev/null";
Dir::Cache "{folder}/cache";
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "{folder}/sources";
APT::Sandbox::User "";
APT::Architecture "{arch}";
APT::Architectures {{ "{arch}"; }};
Debug::NoLocking "true";
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::Check-Valid-Until "false";
Acquire::Retries "2";
Acquire::http::Timeout "20";
''')
        self.env = dict(os.environ, APT_CONFIG=conf, LC_ALL="C")

    def run(self, *words, timeout=300, **options):
        """Its output; Unavailable with apt's last words, or that there was no answer."""
        try:
            return run(*words, env=self.env, timeout=timeout, **options).stdout
        except subprocess.CalledProcessError as e:
            raise Unavailable(e.stderr.strip().splitlines()[-1] if e.stderr.strip() else str(e)) from e
        except subprocess.TimeoutExpired as e:
            raise Unavailable(f"no answer from the package source within {e.timeout:.0f} s") from e
        except FileNotFoundError as e:
            raise Unavailable(f"{words[0]} is not installed") from e

    def update(self):
        self.run("apt-get", "-qq", "update", timeout=120)


def unpack(debs, root):
    """Into @root, where /lib and its like may be links to /usr/lib."""
    os.makedirs(root, exist_ok=True)
    for deb in debs:
        with subprocess.Popen(["dpkg", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as tar:
            run("tar", "-x", "--keep-directory-symlink", "-C", root, stdin=tar.stdout)
