/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events: what records become, and the one shape that filters, sinks and clients know.
 *
 * An event has the common header, the keys, a body (a C struct that its event_desc row describes)
 * and sections (typed attachments). Sinks meet probes only at section kinds and at event_desc rows.
 * An event is borrowed: it is valid until the callback that got it returns.
 */
#ifndef EVENT_EVENT_H
#define EVENT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/value.h"

struct arena;
struct buf;
struct names;
struct packet_flow;
struct scap_view;

/* Typed attachments. Append only: the numbers travel in frames. */
enum sec_kind {
	SEC_PACKET,	/* struct sec_packet, then the packet's bytes */
	SEC_STACK_USER,	/* uint64_t addresses, innermost first */
	SEC_STACK_KERN,	/* uint64_t addresses, innermost first; names through SONDE_NAME_KSYM */
	SEC_PARAMS,	/* struct sec_params, then lengths and bytes: event/params.h */
	SEC_MESSAGE,	/* RPC or application message */
	SEC_PROC,	/* struct sec_proc, then its strings: who the event's process is */
	SEC_TEXT,	/* comments, or the text an event is about; lines separated by \n */
	SEC_NOTIFY,	/* struct sec_notify, then the bytes: a notification of Cilium's monitor as it came */
	SEC__MAX,
};

struct section {
	uint16_t kind;		/* enum sec_kind */
	uint16_t flags;
	uint32_t len;		/* bytes */
	const void *data;	/* 8-byte aligned */
};

struct sec_packet {
	uint32_t link;		/* SONDE_LINK_ETHERNET or SONDE_LINK_RAW (starts at the IP header), or LINKTYPE_* */
	uint32_t orig_len;	/* length on the wire */
	uint32_t cap_len;	/* bytes that follow this struct */
	uint32_t ifindex;
	uint32_t netns;		/* inode of the namespace of the interface, 0 = unknown */
	uint8_t direction;	/* 0 unknown, 1 in, 2 out: as seen by the interface */
	uint8_t pad[3];
};

/* What travels on Cilium's monitor socket: a record of a perf ring, or the count of lost ones (cilium/print.h). */
struct sec_notify {
	int64_t cpu;
	int64_t type;		/* 9 sample, 2 lost, or any other number */
	uint64_t lost;
};

/* Offsets count from the end of this struct; a string has no NUL; length 0 = unknown. */
struct sec_str { uint32_t off, len; };
struct sec_proc {
	uint64_t start_ns;
	uint32_t tgid, ppid;
	uint32_t uid, gid;
	struct sec_str comm, exe, args, container, image;
};

/* Network protocol pair, one direction: from saddr:sport to daddr:dport. */
struct conn {
	struct ipaddr saddr, daddr;
	uint16_t sport, dport;	/* host order */
	uint8_t proto;		/* IPPROTO_*, 0 = none */
	uint8_t pad[3];
};

/* The one key space. 0 = unknown, never guessed. */
struct event_keys {
	uint64_t cgroup_id;
	uint64_t cookie;	/* socket cookie */
	uint64_t goid;		/* goroutine */
	uint64_t rpc_conn;	/* RPC connection pointer in the process */
	uint32_t rpc_stream;
	uint32_t netns;		/* inode of the network namespace */
	struct conn conn;
};

#define EVENT_MAX_SECTIONS 8

/* Parts of an event that its reader may not see (content.c). */
enum event_hide {
	HIDE_NOTHING,
	HIDE_OTHERS,	/* FIELD_OTHERS */
	HIDE_CONTENT,	/* texts and bytes too, but those of FIELD_OPEN */
	HIDE__MAX,
};

struct event_desc;

struct event {
	const struct event_desc *desc;
	uint64_t ts_ns;		/* CLOCK_BOOTTIME */
	uint64_t seq;		/* assigned at publish: one number per event of the stream */
	uint64_t start_ns;	/* with tgid: the process key */
	uint32_t tgid, tid;
	uint16_t cpu, instance, flags; /* flags: SONDE_RF_* of the record */
	uint8_t hide;		/* enum event_hide */
	uint8_t n_sec;
	uint32_t body_len;
	const void *body;	/* desc->body_size bytes at least, 8-byte aligned */
	struct event_keys keys;
	struct section sec[EVENT_MAX_SECTIONS];
	const struct names *names; /* dynamic names as of this event; may be NULL */
	const struct scap_view
		*view;		 /* what is behind SEC_PARAMS (scap/state/state.h); may be NULL; never in frames */
	int64_t clock_offset_ns; /* add to ts_ns for wall-clock time; 0 = unknown */
	struct arena *scratch;	/* for values that are put together when somebody asks; may be NULL */
};

const struct section *event_section(const struct event *ev, enum sec_kind kind);

/* 0 or -ENOSPC. @data is borrowed. */
int event_add_section(struct event *ev, enum sec_kind kind, const void *data, uint32_t len);

/* The packet of an event: its header and bytes, checked against the section's length. */
const struct sec_packet *event_packet(const struct event *ev, const uint8_t **ret_data);

/* Adds SEC_PACKET: @head and its cap_len bytes of @data, copied to @scratch. 0, -ENOMEM or -ENOSPC. */
int event_add_packet(struct event *ev, const struct sec_packet *head, const void *data, struct arena *scratch);

/* The connection that a dissected packet belongs to; nothing without an IP header. */
void packet_keys_conn_from_flow(struct conn *ret, const struct packet_flow *f);

/* The process of an event, or NULL. */
const struct sec_proc *event_proc(const struct event *ev);
const char *event_sec_proc_str(const struct sec_proc *p, const struct section *s, struct sec_str str,
			       size_t *ret_len);

/* Appends "nginx[812]", or "[812]" of a process without a name: @id is a process or one of its threads. */
void event_who(const struct event *ev, uint32_t id, struct buf *out);

/* ---- what an event type looks like ---- */

struct xlat_val { uint64_t val; const char *name; };
struct xlat {
	const char *name;
	const struct xlat_val *vals;
	uint32_t n;
	bool is_flags;		/* bits that combine, joined by | */
};

/* Name of @val, or NULL; the value of @name in any case. */
const char *xlat_name(const struct xlat *x, uint64_t val);
int xlat_value(const struct xlat *x, const char *name, uint64_t *ret);	/* 0 or -ENOENT */

enum field_kind {
	FIELD_UINT,	/* size 1, 2, 4, 8 */
	FIELD_INT,
	FIELD_HEX,	/* unsigned, shown in hex */
	FIELD_BOOL,	/* one byte */
	FIELD_ENUM,	/* unsigned through xlat; unknown values print as numbers */
	FIELD_FLAGS,	/* unsigned through xlat with is_flags */
	FIELD_NAME,	/* unsigned key of name space `space` */
	FIELD_IP,	/* struct ipaddr */
	FIELD_MAC,	/* six bytes */
	FIELD_STR,	/* char[size], ends at the first NUL */
	FIELD_NS,	/* duration in ns */
	FIELD_IFACE,	/* u32 ifindex; named through SONDE_NAME_IFACE and the event's keys.netns */
	FIELD_GET,	/* only desc->get knows */
	FIELD__MAX,
};

#define FIELD_OPTIONAL 1	/* 0 means unknown: left out of text and JSON, "not there" in filters */
#define FIELD_EITHER 2		/* common words only: stands for the two rows that follow, any of them */
#define FIELD_ALIAS 4		/* another word for the same thing: in filters only */
#define FIELD_ARGUMENT 16	/* the word goes on: .NAME or [NAME], which the getter finds in `arg` */
#define FIELD_SILENT 32		/* in filters and formats; generic text and JSON leave it out */
#define FIELD_SHOWN 64		/* set on a copy: the value as people see it (dots in a buffer), not its bytes */
#define FIELD_ALSO 128		/* set on a copy: a row of desc->also */
#define FIELD_SHORT 256		/* an id: its first ID_SHORT digits stand for it */
#define FIELD_LABEL 512		/* tells one counter from another: a label where counters have labels */
#define FIELD_TOTAL 1024		/* such a counter: a sum since the start */
#define FIELD_WITHIN 2048	/* distance from a time, the number in `arg`: in filters "=" means not further */
#define FIELD_OPEN 4096		/* a text without content: names of processes, containers, interfaces, reasons */
#define FIELD_OTHERS 8192	/* content of a process other than the event's: its parent's command line */
#define FIELD_PORT 16384		/* of TCP or UDP: in filters the name of a service stands for its number */
#define FIELD_PACKET 8		/* repeats what SEC_PACKET says: outputs that hold the packet leave it out */

#define ID_SHORT 12		/* as container engines and sysdig print them */

struct field {
	const char *name;	/* the filter word, "drop.reason"; JSON uses what follows the dot */
	enum field_kind kind;
	uint16_t off, size;	/* in the body */
	uint16_t flags;
	uint16_t space;		/* FIELD_NAME: SONDE_NAME_* */
	uint16_t like;		/* FIELD_GET: FIELD_LIKE() of what its values are, for filters; 0 = any */
	const struct xlat *xlat;
	const char *doc;
	const char *key;	/* in JSON, where what follows the dot says too little; NULL = that */
	const char *arg;	/* of a copy of a FIELD_ARGUMENT row: what was written; NULL = nothing */
};

/*
 * The row that @word names: its own, or a FIELD_ARGUMENT row that it continues, whose argument is then at
 * *ret_arg, *ret_arg_len (else NULL, 0). NULL when there is none.
 */
const struct field *event_field_find(const struct field *fields, size_t n, const char *word, const char **ret_arg,
				     size_t *ret_arg_len);

#define FIELD_LIKE(kind) ((kind) + 1)

#define FIELD_ROW(type, member, name_, kind_, doc_, ...) \
	{ .name = (name_), .kind = (kind_), .off = offsetof(type, member), .size = sizeof(((type *)0)->member), \
	  .doc = (doc_), ##__VA_ARGS__ }

enum time_mode { TIME_LOCAL, TIME_RFC3339, TIME_EPOCH, TIME_DELTA, TIME_REL, TIME_MONO, TIME_NONE, TIME__MAX };

/* What the user asked of text output; line functions look, they do not keep it. */
struct format;

struct line_opts {
	unsigned verbose;	/* -v, -vv */
	bool hex;		/* hex dump instead of dissection */
	bool numeric;		/* no names for numbers */
	unsigned string_bytes;	/* most bytes of a string that a line shows; 0 = the default of the type */
	const char *format;	/* NULL = ours; "cilium", "sysdig", "strace"... where the type knows it */
	const struct format *print; /* the user's own form of line (event/format.h); NULL = none */
};

/* How the type takes part in the stream. */
enum event_class {
	EVENT_DATA,  /* counted by the ledger, shown */
	EVENT_STATE, /* keeps tables up to date (process table, names); shown if a filter names the type */
	EVENT_META,  /* about the stream itself: loss, ledger; never filtered away */
	EVENT__MAX,
};

struct event_desc {
	uint16_t type;		/* SONDE_EV_* */
	const char *name;	/* "net.drop" */
	const char *doc;
	enum event_class class;
	bool table;		/* its lines are rows of one table: no time in front of them */
	bool aggregate;		/* counts what many did: whose was decided where it was counted */
	const struct field *fields;
	uint16_t n_fields;
	uint16_t body_size;	/* bytes of the fixed body */
	uint32_t sections;	/* 1u << kind of those that may be present */
	/*
	 * A type whose words these events have too, its own coming first; asked through its get(). Outputs that list
	 * all fields of an event leave them out. NULL = none.
	 */
	const struct event_desc *also;

	/* Value of a FIELD_GET field. 0, or -ENOENT when this event has none. */
	int (*get)(const struct event *ev, const struct field *f, struct value *ret);

	/* The text form: one line or, with -vv, several, each ending in \n. Untrusted strings through
	 * str_escape_buf(). The sink writes the time in front. NULL = generic "name key=value ...". */
	int (*line)(const struct event *ev, const struct line_opts *o, struct buf *out); /* adding nothing hides it */

	/* Adds a section (enum sec_kind, one of `sections`) that is made only when somebody wants it; its bytes
	 * go to @scratch. 0, -ENOENT when this event has none, -ENOMEM. Optional. */
	int (*make)(struct event *ev, unsigned kind, struct arena *scratch);
};

/*
 * Does @name stand for events of this type? The whole name (net.drop) does, and of events of data that give evt.type
 * no meaning of their own the part behind the dot (drop).
 */
bool event_desc_is_called(const struct event_desc *d, const char *name);

/* Reads one field. 0, or -ENOENT when it is unknown (optional and 0, or not in this event). */
int event_get(const struct event *ev, const struct field *f, struct value *ret);

/*
 * @ev without content: fields are hidden by their flags, sections cut or left out by their kind. A section for which
 * @scratch has no memory is left out.
 */
void event_hide_content(const struct event *ev, struct arena *scratch, struct event *ret);

/* The number behind a field, without its name. 0, or -ENOENT as above or when it is no number. */
int event_get_number(const struct event *ev, const struct field *f, uint64_t *ret);

/*
 * The text form of an event without its time: desc->line, or "name key=value ..." when there is none. Ends in
 * \n. 0 or a negative errno.
 */
int event_line(const struct event *ev, const struct line_opts *o, struct buf *out);

/* Key part of the field name: "reason" of "drop.reason". */
const char *event_field_key(const struct field *f);

/* ---- registry: the event types of one pipeline ---- */

struct registry;

struct registry *registry_new(void);	/* holds the core types already */
void registry_free(struct registry *r);
/* @descs: NULL-terminated, static. -EEXIST if a type or name is taken. */
int registry_add(struct registry *r, const struct event_desc *const *descs);
const struct event_desc *registry_find(const struct registry *r, uint16_t type);
const struct event_desc *registry_find_name(const struct registry *r, const char *name);
const struct event_desc *registry_next(const struct registry *r, size_t *pos); /* NULL at the end */

/*
 * Words every event has, whatever its type: evt.type evt.time evt.cpu evt.num evt.dir proc.pid proc.name
 * proc.exe proc.args proc.ppid proc.uid thread.tid container.id container.image cgroup.id netns sock.cookie
 * conn.src conn.dst conn.sport conn.dport fd.ip fd.port fd.proto ... Rows with kind FIELD_GET.
 */
extern const struct field event_common_fields[];
extern const size_t event_n_common_fields;
int event_get_common(const struct event *ev, const struct field *f, struct value *ret);

#endif
