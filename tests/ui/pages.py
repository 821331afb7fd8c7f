# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages of the page, with what each must show before a test looks at it."""

ROWS = "document.querySelectorAll('main tbody tr').length > 2"
CANVAS = "document.querySelector('main canvas')"
BOTH = f"{ROWS} && {CANVAS}"

# name: (address without range, condition in the page)
PAGES = {
    "overview": ("/", BOTH),
    "flows": ("/flows", ROWS),
    "flow map": ("/flows?tab=map", "document.querySelectorAll('main svg path.edge').length > 2"),
    "drops": ("/drops", "document.querySelectorAll('.event').length > 3 && document.querySelector('main tbody tr')"),
    "calls": ("/calls", BOTH),
    "one call": ("/calls?call=CALL", f"document.querySelector('aside canvas') && {CANVAS}"),
    "cpu": ("/cpu", BOTH),
    "icicle": ("/cpu?shape=icicle&by=process&mode=both", CANVAS),
    "sandwich": ("/cpu?shape=sandwich&focus=serve", "document.querySelectorAll('main canvas').length == 2"),
    "off cpu": ("/cpu?mode=off", "document.querySelectorAll('main canvas').length == 2"),
    "processes": ("/processes", ROWS),
    "threads": ("/processes?sel=1001", "document.querySelectorAll('table.tracks tbody tr').length > 1"),
    "syscalls": ("/syscalls", BOTH),
    "events": ("/events", "document.querySelectorAll('.event').length > 10"),
    "one event": ("/events?sel=3", "document.querySelector('aside table tr') && document.querySelector('.event')"),
    "recordings": ("/recordings", "document.querySelectorAll('main .operation').length > 1"),
    "views": ("/views?view=ports", ROWS),
}

SIZES = {
    "light": {"width": 1280, "height": 720},
    "dark": {"width": 1280, "height": 720, "dark": True},
    "phone": {"width": 390, "height": 844, "touch": True},
}


def address(name, server):
    """Live answers begin a minute before the start; a recording has one call of its own."""
    path, condition = PAGES[name]
    if "CALL" in path:
        server.host.grow()
        path = path.replace("CALL", next(e["rpc.id"] for e in server.host.events if "rpc.id" in e))
    return path, condition
