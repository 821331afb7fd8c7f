/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One event as one JSON object (NDJSON). The names and types of members are stable within "v":
 *
 *   v type time ts_ns seq cpu       always; time (RFC 3339, UTC) once the stream knows the wall clock
 *   instance probe snapshot cut     if applicable
 *   proc     {pid tid start_ns ppid uid gid name exe args container image}
 *   cgroup_id cgroup netns netns_name cookie goid rpc_conn rpc_stream
 *   conn     {proto src sport dst dport}
 *   ...      fields of the type under the keys that `sonde help fields` lists
 *   packet   {link len cap_len dir ifindex iface data}; data (hex) only on request
 *   kstack ustack                   ["symbol+0x10 [module]", ...]; names of user addresses on request
 *   comments ["...", ...]           of packets from files
 *
 * Unknown values are omitted. Integers are never doubles. Strings contain no raw control bytes.
 */
#ifndef SINKS_JSON_LINE_H
#define SINKS_JSON_LINE_H

#include <stdbool.h>

#include "event/json.h"
#include "sinks/json_parts.h"
#include "sinks/time_text.h"

struct json_names;

#define JSON_LINE_VERSION 1

#define JSON_LINE_TYPES 64	/* a power of two */

struct json_type {
	struct json_keys keys;	/* of its fields; desc NULL: unused */
	struct buf head;	/* the members "v" and "type" */
};

/* Shared by the lines of a stream. Zeroed at first; json_line_fini() releases it. */
struct json_line {
	struct time_text time;
	struct json_type types[JSON_LINE_TYPES]; /* by number */
	struct json_parts heads, procs, places;
};

/*
 * Appends the object and a newline. @names: leave holes for user stacks (@out is its text then); NULL = addresses.
 * @with_bytes: packet data too. 0 or -ENOMEM.
 */
int json_line(struct json_line *l, const struct event *ev, struct json_names *names, bool with_bytes,
	      struct buf *out);
void json_line_fini(struct json_line *l);

/* True for the member names above: no field of a type may have one as its key. */
bool json_line_reserves(const char *key);

#endif
