# SPDX-License-Identifier: GPL-2.0-or-later
"""A packet socket: the frames that it sends belong to its process, at both ends of the link."""
import fields
import helpers
import packets

PORT, MOST = 9, 5000
# no ICMP error back
SILENT = f"table ip f {{\n chain i {{\n type filter hook input priority 0;\n udp dport {PORT} drop\n }}\n}}\n"


def run(stage):
    link = helpers.Link(stage.netns(), stage.netns())
    link.b.nft(SILENT)
    count = max(50, min(MOST, stage.events // 4))
    watch = stage.watch("monitor", "monitor", "--netns", link.a.name, "--netns", link.b.name, f"udp port {PORT}")
    stage.run("raw", *stage.python("raw.py"), link.a_dev, link.b.mac(link.b_dev), link.a_ip, link.b_ip, count,
              netns=link.a)
    recording = stage.finish(watch)
    row = next(stage.truth("raw"))
    sent = 0
    for ev in packets.of_port(recording, PORT):
        if ev["type"] != "net.trace":
            continue
        sent += ev["dir"] == "out"
        who = fields.sender(ev)
        where = "out" if ev["dir"] == "out" else "in"
        stage.score("process-" + where).equal(who.pid, row["pid"], packets.short(ev), who.how)
        stage.score("socket-" + where).equal(who.cookie, row["cookie"], packets.short(ev), who.how)
    stage.score("generator").equal(sent, count, "frames are shown where they leave")
    stage.check_replay(recording)
