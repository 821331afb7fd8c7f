# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs inside gdb: stops a Go program in front of places that sonde watches and writes down what gdb says of the
arguments there, one JSON object for each stop.

    gdb -p PID -ex "py argv = ['PLACES', 'OUT']" -x gdb_args.py

PLACES is a file of [{"rule", "entry", "addr"}]. A place has the kernel's own breakpoint, which gdb would never see:
gdb stops at the entry of the function and steps to the place, without executing it.
"""
import json

import gdb

STEPS_MAX = 12


def text(value):
    """A Go string, whole."""
    return value["str"].string(length=int(value["len"])) if int(value["len"]) else ""


def headers(slice_):
    fields = [slice_["array"][i] for i in range(int(slice_["len"]))]
    return {text(f["Name"]): text(f["Value"]) for f in fields}


def members(value):
    return {f.name for f in value.dereference().type.fields()}


def of_writer(frame):
    loopy = frame.read_var("l")
    conn = loopy["conn"] if "conn" in members(loopy) else loopy["framer"]["writer"]["conn"]
    return {"conn": int(conn["data"]), "stream": int(frame.read_var("streamID")),
            "end_stream": bool(frame.read_var("endStream")), "headers": headers(frame.read_var("hf"))}


def of_reader(frame):
    got = frame.read_var("frame")
    inner = got["HeadersFrame"]["FrameHeader"]
    return {"conn": int(frame.read_var("t")["conn"]["data"]), "stream": int(inner["StreamID"]),
            "end_stream": bool(int(inner["Flags"]) & 1), "headers": headers(got["Fields"])}


READ = {"grpc.write-header": of_writer, "grpc.server-headers": of_reader, "grpc.client-headers": of_reader}


class Entry(gdb.Breakpoint):
    def __init__(self, place):
        super().__init__(f"*{place['entry']}", internal=True)
        self.silent = True
        self.place = place


def at_entry(place, out):
    """In front of the place? A stack that grows leads elsewhere, and back to the entry."""
    for _ in range(STEPS_MAX):
        if gdb.newest_frame().pc() == place["addr"]:
            break
        gdb.execute("stepi", to_string=True)
    else:
        return
    frame = gdb.selected_frame()
    row = {"rule": place["rule"], "info_args": gdb.execute("info args", to_string=True), **READ[place["rule"]](frame)}
    out.write(json.dumps(row) + "\n")
    out.flush()


def main(places, to):
    gdb.execute("set pagination off")
    gdb.execute("set print elements 0")
    for name in ("SIGURG", "SIGPIPE", "SIGPROF"):
        gdb.execute(f"handle {name} nostop noprint pass", to_string=True)
    gdb.execute("set scheduler-locking step")
    with open(places, encoding="utf-8") as f:
        stops = {p["entry"]: Entry(p) for p in json.load(f)}
    with open(to, "w", encoding="utf-8") as out:
        print("gdb is ready", flush=True)
        while True:
            try:
                gdb.execute("continue", to_string=True)
            except gdb.error:
                return
            if not gdb.selected_inferior().pid or not gdb.selected_thread():
                return
            stop = stops.get(gdb.newest_frame().pc())
            if stop:
                at_entry(stop.place, out)


main(*argv)  # noqa: F821  set by the command line above
