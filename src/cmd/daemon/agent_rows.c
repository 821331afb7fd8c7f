// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/daemon/agent_rows.h"

#include "agent/agent.h"

#define ROW(member, ...) OPT_ROW(agent_conf, member, __VA_ARGS__)

const struct opt agent_rows_file[] = {
	ROW(record, "record", 0, OPT_STR, "SET,...",
	    "record light, normal, full, or probes with options (default off)",
	    .more = "as sonde record --set; read the store with -r, also while it is written, with --symfs / for "
		    "names of functions, which it does not contain. The recording goes on after a restart; sonde "
		    "control record starts and stops it"),
	ROW(record_dir, "record-dir", 0, OPT_STR, "DIR", "directory of the store (default " AGENT_RECORD_DIR ")",
	    .more = "alone it permits sonde control record start. Only the agent's user may read the store, with "
		    "allow-content = group the group too"),
	ROW(record_size, "record-size", 0, OPT_BYTES, "SIZE", "remove the oldest segments beyond SIZE (default 10G)",
	    .more = "also while less than a tenth of the disk is free. Dumps do not count and stay"),
	ROW(record_age_ns, "record-age", 0, OPT_DURATION, "TIME", "remove segments older than TIME"),
	ROW(record_keep_ns, "record-keep", 0, OPT_DURATION, "TIME",
	    "keep TIME in memory only; sonde control dump writes it"),
	ROW(ui_set, "ui-set", 0, OPT_STR, "SET,...", "probes of the page of ui, as record (default normal)",
	    .more = "they run as long as the agent does"),
	ROW(hubble_listen, "hubble-listen", 0, OPT_STR, "ADDR",
	    "serve clients of hubble at 127.0.0.1:PORT or [::1]:PORT too, to any user",
	    .more = "they expect port 4245"),
	ROW(cost_every_ns, "cost-every", 0, OPT_DURATION, "TIME", "how often to measure probes' cost (default 15s)"),
	ROW(queue_records, "queue-records", 0, OPT_U64, "N", "unread records of one client (default 262144)"),
	OPT_END,
};
