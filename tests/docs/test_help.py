# SPDX-License-Identifier: GPL-2.0-or-later
"""Help, man pages and completion say the same: all come from the option rows, and this shows that all arrive."""
import os
import re
import shutil
import subprocess

import pytest


def unroff(text):
    return text.replace("\\-", "-")


def test_every_command_has_help_and_a_page(sonde):
    commands = sonde.commands()
    assert {"monitor", "doctor", "probes", "help", "completion"} <= set(commands)
    for command in commands:
        done = sonde(command, "--help")
        assert done.returncode == 0 and f"Usage: sonde {command}" in done.stdout, command
        page = sonde("help", "--man", command)
        assert page.returncode == 0 and page.stdout.startswith(".TH SONDE"), command
        assert os.path.exists(os.path.join(sonde.build, "doc", "man", f"sonde-{command}.1")), command


def test_monitor_has_options(sonde):
    """So that the tests below cannot pass by finding nothing."""
    assert {"type", "iface", "json", "output", "read", "where", "count", "snaplen"} <= set(sonde.options("monitor"))


def test_every_option_is_in_the_page(sonde):
    for command in sonde.commands():
        page = unroff(sonde("help", "--man", command).stdout)
        for option in sonde.options(command):
            assert re.search(rf"--{re.escape(option)}\b", page), f"{command}: --{option} is not in the man page"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_option_is_in_the_completion(sonde, shell):
    done = sonde("completion", shell)
    assert done.returncode == 0
    for command in sonde.commands():
        assert command in done.stdout
        for option in sonde.options(command):
            word = rf"-l '?{re.escape(option)}\b" if shell == "fish" else rf"--{re.escape(option)}\b"
            assert re.search(word, done.stdout), f"{shell}: --{option} of {command}"


def complete(sonde, tmp_path, *words):
    """What bash offers for the last of @words."""
    script = tmp_path / "sonde.bash"
    script.write_text(sonde("completion", "bash").stdout)
    quoted = " ".join(f"'{w}'" for w in words)
    code = (f". {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; COMP_LINE=\"{' '.join(words)}\"; "
            "COMP_POINT=${#COMP_LINE}; f=$(complete -p sonde | sed 's/.*-F \\([^ ]*\\).*/\\1/'); "
            f"$f sonde '{words[-1]}' '{words[-2]}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return [line.strip() for line in done.stdout.split("\n") if line.strip()]


def test_bash_completes(sonde, tmp_path):
    assert complete(sonde, tmp_path, "sonde", "mon") == ["monitor"]
    assert "--iface" in complete(sonde, tmp_path, "sonde", "monitor", "--if")
    assert complete(sonde, tmp_path, "sonde", "doctor", "--if") == []


def test_pages_are_sound(sonde):
    if not shutil.which("mandoc"):
        pytest.skip("mandoc is not installed")
    folder = os.path.join(sonde.build, "doc", "man")
    pages = [os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".1")]
    assert len(pages) == len(sonde.commands()) + 1
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *pages], capture_output=True, text=True,
                          check=False)
    # Pages are made without a date, so that the same source gives the same bytes.
    found = [line for line in done.stdout.split("\n") if line and "missing date" not in line]
    assert not found, "\n".join(found)


def test_help_is_80_columns(sonde):
    for command in sonde.commands():
        for line in sonde(command, "--help").stdout.split("\n"):
            if not line.startswith("  sonde "):     # examples are commands and are not wrapped
                assert len(line) <= 80, f"{command}: {line}"
