# SPDX-License-Identifier: GPL-2.0-or-later
"""Help, man pages and completion say the same: all come from the option rows, and this shows that all arrive."""
import os
import re
import select
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
    assert {"interface", "json", "output", "read", "where", "count", "snaplen"} <= set(sonde.options("monitor"))


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
    assert "--interface" in complete(sonde, tmp_path, "sonde", "monitor", "--inter")
    assert complete(sonde, tmp_path, "sonde", "doctor", "--inter") == []


# At a real prompt: Tab, then a key that prints the line.
PROMPTS = {
    "bash": (("--noprofile", "--rcfile", "RC", "-i"), """. SCRIPT
bind -x '"\\C-t": printf "LINE<%s>\\n" "$READLINE_LINE"'
"""),
    "zsh": (("-d", "-i"), """fpath=(FOLDER $fpath) PS1='READY> '
autoload -Uz compinit; compinit -u -D
show() { print -r -- "LINE<$BUFFER>" }
zle -N show; bindkey '^T' show
"""),
    "fish": (("--no-config", "-i", "-C", "source RC"), """source SCRIPT
bind \\t complete; bind \\ct 'echo "LINE<"(commandline)">"'
"""),
}


def at_a_prompt(sonde, tmp_path, shell, typed):
    """The line after Tab."""
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    args, rc = PROMPTS[shell]
    script = tmp_path / "_sonde"
    script.write_text(sonde("completion", shell).stdout)
    words = {"RC": tmp_path / ".zshrc", "SCRIPT": script, "FOLDER": tmp_path}
    words["RC"].write_text(re.sub(r"SCRIPT|FOLDER", lambda m: str(words[m[0]]), rc))
    ours, terminal = os.openpty()
    env = {**os.environ, "TERM": "dumb", "HOME": str(tmp_path), "ZDOTDIR": str(tmp_path),
           "PATH": f"{os.path.dirname(sonde.path)}:{os.environ['PATH']}"}
    args = [arg.replace("RC", str(words["RC"])) for arg in args]
    with subprocess.Popen(["setsid", "--ctty", shell, *args], stdin=terminal, stdout=terminal,
                          stderr=terminal, env=env) as child:
        os.write(ours, f"{typed}\t\x14".encode())
        text = b""
        while not (line := re.search(rb"LINE<(.*?)>\r?\n", text)) and select.select([ours], [], [], 60)[0]:
            text += os.read(ours, 4096)
        child.kill()
    os.close(ours)
    os.close(terminal)
    assert line, text
    return line[1].decode().strip()


@pytest.mark.parametrize("shell", PROMPTS)
@pytest.mark.parametrize("typed, completed", [
    ("mon", "monitor"), ("monitor --inter", "monitor --interface"), ("doctor --inter", "doctor --inter"),
    ("monitor --where drop.rea", "monitor --where drop.reason"),
    ("monitor --where net.point=to-st", "monitor --where net.point=to-stack"),
    ("monitor --where 'proc.pid=1 and net.ifa", "monitor --where 'proc.pid=1 and net.iface'"),
    ("monitor --where='net.point=to-st", "monitor --where='net.point=to-stack'"),
    ("monitor --where 'net.dir in (out, i", "monitor --where 'net.dir in (out, in'"),
    ("monitor --where evt.type=net.dro", "monitor --where evt.type=net.drop"),
    ("monitor --where drop.reason=NO_SOCK", "monitor --where drop.reason=NO_SOCKET"),
    ("monitor --json --quie", "monitor --json --quiet")])
def test_tab_completes(sonde, tmp_path, shell, typed, completed):
    """Commands, options, fields and values. Quotes, and the sign before a value, are the shell's affair."""
    line = at_a_prompt(sonde, tmp_path, shell, f"sonde {typed}")
    assert line.replace("'", "").rstrip("=") == f"sonde {completed}".replace("'", "")


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


def letters(text):
    """{letter: long option} of a help text."""
    return dict(re.findall(r"^ {2}-(\w), --([a-z][a-z0-9-]*)", text, re.M))


def test_a_letter_means_the_same_everywhere(sonde):
    meaning = {}
    for command in sonde.commands():
        for letter, option in letters(sonde(command, "--help").stdout).items():
            assert meaning.setdefault(letter, option) == option, f"{command}: -{letter} is --{option}"
    assert {"p": "pid", "i": "interface", "o": "output", "n": "count", "r": "read", "w": "write"}.items() <= \
        meaning.items()


def test_help_all_has_more(sonde):
    for command in ("monitor", "flows", "capture", "counters", "policy", "profile", "syscalls", "rpc"):
        short, everything = (sonde(command, "--help", *more).stdout for more in ((), ("all",)))
        assert short.count("\n") <= 60 and everything.count("\n") > short.count("\n")
        assert everything == sonde("help", command, "all").stdout
        assert max(map(len, everything.split("\n"))) <= 120


def test_global_options_stand_anywhere(sonde):
    recording = os.path.join("tests", "data", "rec", "loopback.rec")
    front = sonde("--agent=no", "--ring-size", "1M", "monitor", "-r", recording, "-n", "1")
    behind = sonde("monitor", "-r", recording, "-n", "1", "--agent=no", "--ring-size", "1M")
    assert front.returncode == 0 and front.stdout and front.stdout == behind.stdout
    wrong = sonde("--pid", "1", "monitor")
    assert wrong.returncode == 2 and "--pid is not a global option" in wrong.stderr


@pytest.mark.parametrize("words", [["-V"], ["--version"], ["version"], ["monitor", "-V"]])
def test_version(sonde, words):
    done = sonde(*words)
    assert done.returncode == 0 and re.fullmatch(r"sonde \d+\.\d+\.\d+\S*\n", done.stdout)


def test_dialects_are_listed_and_have_help(sonde):
    listed = re.findall(r"^  sonde compat (.*?) {2,}(\d+) of +(\d+) \( *(\d+) %\)", sonde("compat").stdout, re.M)
    tools = [tool for tool, *_ in listed]
    assert all(int(percent) == 100 * int(n) // int(of) for _, n, of, percent in listed)
    assert tools == ["hubble observe", "cilium-dbg monitor", "sysdig", "strace", "tcpdump", "profile-bpfcc",
                     "perf record", "perf script", "perf report", "perf top", "perf trace"]
    for tool in tools:
        done = sonde("compat", *tool.split(), "--help")
        assert done.returncode == 0 and f"Usage: sonde compat {tool} " in done.stdout


@pytest.mark.parametrize("words, instead", [
    (["hubble", "observe", "--uuid", "5"], "flow.id"),
    (["sysdig", "-R"], "fd.sport=NAME"),
    (["strace", "-ttfd", "ls"], "sonde doctor"),
    (["strace", "-e", "inject=all:error=EIO", "ls"], "changes no call"),
    (["hubble", "list"], "sonde compat hubble observe"),
    (["nosuch"], "lists the tools"),
    (["perf"], "sonde compat perf record"), (["perf", "stat", "ls"], "sonde compat perf trace"),
])
def test_a_dialect_refuses_by_name(sonde, words, instead):
    done = sonde("compat", *words)
    assert done.returncode == 2 and instead in done.stderr and done.stdout == ""
    assert done.stderr.count("\n") == 1
