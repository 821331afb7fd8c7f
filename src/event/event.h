/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events: decoded records, in the one shape that filters, sinks and clients know.
 *
 * An event consists of a header, keys, a body (a C struct that its event_desc row describes) and sections (typed
 * attachments). Sinks know probes only through section kinds and event_desc rows. An event is borrowed: it stays
 * valid until the callback that received it returns.
 */
#ifndef EVENT_EVENT_H
#define EVENT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/value.h"

struct packet_flow;

/* Typed attachments. Append only: frames carry the numbers. */
enum sec_kind {
	SEC_PACKET,	/* struct sec_packet, then the packet's bytes */
	SEC_STACK_USER,	/* uint64_t addresses, innermost first */
	SEC_STACK_KERN,	/* uint64_t addresses, innermost first; names through SONDE_NAME_KSYM */
	SEC_PARAMS,	/* struct sec_params, then lengths and bytes: event/params.h */
	SEC_MESSAGE,	/* message of an RPC or an application */
	SEC_PROC,	/* struct sec_proc, then its strings: the event's process */
	SEC_TEXT,	/* comments or the event's text; lines separated by   */
	SEC_NOTIFY,	/* struct sec_notify, then its bytes: a notification of Cilium's monitor, unchanged */
	SEC_FILE,	/* struct sec_file, its name included: the open file behind the event's descriptor */
	SEC_CALL,	/* struct sec_call, then its strings: the RPC that the event's goroutine serves */
	SEC_STATE,	/* struct sec_state and what its kind has: a fact for the tables of state */
	SEC__MAX,
};

struct section {
	uint16_t kind;		/* enum sec_kind */
	uint16_t flags;
	uint32_t len;		/* bytes */
	const void *data;	/* 8-byte aligned */
};

enum packet_direction { PACKET_DIR_UNKNOWN, PACKET_DIR_IN, PACKET_DIR_OUT, PACKET_DIR__MAX };

struct sec_packet {
	uint32_t link;		/* SONDE_LINK_ETHERNET, SONDE_LINK_RAW (starts at the IP header) or LINKTYPE_* */
	uint32_t orig_len;	/* length on the wire */
	uint32_t cap_len;	/* bytes that follow this struct */
	uint32_t ifindex;
	uint32_t netns;		/* inode of the interface's namespace, 0 = unknown */
	uint8_t direction;	/* enum packet_direction, as seen by the interface */
	uint8_t pad[3];
};

/* Payload of Cilium's monitor socket: one record of a perf ring, or a count of lost records (cilium/print.h). */
struct sec_notify {
	int64_t cpu;
	int64_t type;		/* 9 = sample, 2 = lost; any other number is possible */
	uint64_t lost;
};

/* Offsets count from the end of struct sec_proc; strings have no NUL; length 0 = unknown. */
struct sec_str { uint32_t off, len; };
struct sec_proc {
	uint64_t start_ns;
	uint32_t tgid, ppid;
	uint32_t uid, gid;
	uint32_t vpid;		/* tgid in its own pid namespace; 0 = unknown */
	uint32_t pad;
	struct sec_str comm, exe, args, container, image;
};

/* Offsets count from the end of struct sec_call, as above. */
struct sec_call {
	struct sec_str method, path;
};

/*
 * SEC_STATE: what an EVENT_STATE event says of its process, or of the socket or stream in its keys. It may lie in the
 * body: event_state() finds it, event_state_text() a string.
 */
enum sec_state_kind {
	SEC_STATE_FORK,		/* struct sec_task: made by maker_tgid; `flag`: a thread */
	SEC_STATE_EXEC,		/* struct sec_task: another program since image_ns, 0 = since the event */
	SEC_STATE_TASK,		/* struct sec_task: was there before the start; `flag`: a thread */
	SEC_STATE_NAME,		/* struct sec_task: comm alone is new */
	SEC_STATE_CGROUP,	/* its cgroup is in the keys */
	SEC_STATE_EXIT,		/* a thread ended; `flag`: the last one */
	SEC_STATE_MAPPING,	/* struct sec_mapping */
	SEC_STATE_SOCKET,	/* struct sec_socket; `flag`: it was closed */
	SEC_STATE_FRAME,	/* the bytes of the keys (seq, seq_len) are a frame of the keys' socket and stream */
	SEC_STATE_PROGRAM,	/* the RPCs of its program are watched in its code (`flag`), or cannot be */
	SEC_STATE__MAX,
};

struct sec_state {
	uint8_t kind, flag;
	uint16_t text;		/* where the strings begin, bytes from here: struct sec_str count from there */
	uint32_t pad;
};

struct sec_task {
	struct sec_state head;
	uint64_t image_ns, maker_start_ns;
	uint32_t ppid, uid, gid;
	uint32_t vpid;		/* tgid in its own pid namespace; 0 = unknown */
	uint32_t maker_tgid;
	bool ended;		/* of SEC_STATE_TASK: it had ended by then */
	uint8_t pad[3];
	struct sec_str exe, args;
	char comm[16];
};

struct sec_mapping {
	struct sec_state head;
	uint64_t addr, len, file_off, ino;
	uint32_t dev, generation; /* major << 20 | minor; of the inode */
	struct sec_str path;	/* seen from the process's root; "//anon" and "[vdso]" have no file */
	uint8_t build_id[20], build_id_len, pad[3];
};

struct sec_socket {
	struct sec_state head;
	uint64_t listener;	/* cookie of the socket that accepted it; 0 = none */
};

/* End of a packet. */
enum packet_end { PACKET_END_UNKNOWN, PACKET_END_SENDER, PACKET_END_RECEIVER, PACKET_END__MAX };

/* A connection in one direction: from saddr:sport to daddr:dport. */
struct conn {
	struct ipaddr saddr, daddr;
	uint16_t sport, dport;	/* host order */
	uint8_t proto;		/* IPPROTO_*, 0 = none */
	uint8_t pad[3];
};

enum file_kind {
	FILE_KIND_UNKNOWN, FILE_KIND_FILE, FILE_KIND_DIR, FILE_KIND_CHAR, FILE_KIND_BLOCK, FILE_KIND_PIPE,
	FILE_KIND_LINK, FILE_KIND_SOCKET, FILE_KIND_INET, FILE_KIND_UNIX, FILE_KIND_NETLINK, FILE_KIND_PACKET,
	FILE_KIND_EPOLL, FILE_KIND_EVENTFD, FILE_KIND_SIGNALFD, FILE_KIND_TIMERFD, FILE_KIND_INOTIFY,
	FILE_KIND_FANOTIFY, FILE_KIND_USERFAULTFD, FILE_KIND_IO_URING, FILE_KIND_PIDFD, FILE_KIND_PERF_EVENT,
	FILE_KIND_BPF, FILE_KIND_MEMFD, FILE_KIND_NAMESPACE, FILE_KIND_ANON, FILE_KIND__MAX,
};

struct sec_file {
	uint64_t number;	/* as in event_keys */
	uint64_t ino;
	uint32_t dev, rdev;	/* major << 20 | minor */
	uint32_t generation;	/* of the inode */
	uint32_t mode;		/* type and permissions */
	uint32_t open_flags;	/* O_* when first seen */
	uint8_t kind;		/* enum file_kind */
	uint8_t pad[3];
	struct conn conn;	/* FILE_KIND_INET: from the local end to the peer */
	uint64_t ends[2];	/* FILE_KIND_UNIX: kernel addresses of both ends */
	uint32_t name_len;
	char name[];		/* as /proc/PID/fd shows it; sockets: their addresses. No NUL */
};

/* The key space shared by all probes. 0 = unknown; keys are never guessed. */
struct event_keys {
	uint64_t cgroup_id;
	uint64_t cookie;	/* socket cookie, or SONDE_ID_SOCK_INODE | inode */
	uint64_t goid;		/* goroutine */
	uint64_t rpc_conn;	/* pointer to the RPC connection in its process */
	uint32_t rpc_stream;
	uint32_t netns;		/* inode of the network namespace */
	uint64_t image;		/* number of the process's executable image */
	uint64_t call;		/* number of the RPC that the goroutine serves or the packet carries */
	uint64_t file;		/* number of the open file */
	uint32_t file_fd;	/* its descriptor, plus one */
	uint32_t seq, seq_len;	/* bytes of the TCP stream, as in struct sonde_ident */
	uint8_t owner_how, file_how, call_how; /* SONDE_HOW_* */
	uint8_t ident_flags;	/* SONDE_ID_F_* */
	uint64_t peer;		/* packets: cookie of the socket at the end that is not the event's process */
	uint8_t end;		/* packets: enum packet_end that the event's process is */
	bool dropped;		/* packets */
	struct conn conn;
};

#define EVENT_MAX_SECTIONS 8

/* Content that is hidden from the event's reader (content.c). */
enum event_hide {
	HIDE_NOTHING,
	HIDE_OTHERS,	/* FIELD_OTHERS */
	HIDE_CONTENT,	/* strings and bytes as well, except FIELD_OPEN */
	HIDE__MAX,
};

struct event;

/* Functions of stacks by name: stack/functions.h. */
struct event_functions {
	/*
	 * Those of the stacks of @ev, innermost first, each with a NUL behind it; valid until the next call. 0,
	 * -ENOENT without a stack, or -ENOMEM.
	 */
	int (*list)(struct event_functions *f, const struct event *ev, const char **ret, size_t *ret_len);
};

struct event {
	const struct event_desc *desc;
	uint64_t ts_ns;		/* CLOCK_BOOTTIME */
	uint64_t seq;		/* assigned when published: consecutive in the stream */
	uint64_t start_ns;	/* start of the process; (tgid, start_ns) identifies it */
	uint32_t tgid, tid;
	uint16_t cpu, instance, flags; /* flags: SONDE_RF_* of the record */
	uint8_t hide;		/* enum event_hide */
	uint8_t n_sec;
	uint32_t body_len;
	const void *body;	/* at least desc->body_size bytes, 8-byte aligned */
	struct event_keys keys;
	struct section sec[EVENT_MAX_SECTIONS];
	const struct names *names; /* names known at this event; may be NULL */
	const struct scap_view
		*view;		 /* state behind SEC_PARAMS (scap/state/state.h); may be NULL; never in frames */
	int64_t clock_offset_ns; /* add to ts_ns for wall-clock time; 0 = unknown */
	struct arena *scratch;	/* for values that are built on demand; may be NULL */
	struct event_functions *functions; /* NULL = only those of the kernel are known, by `names` */
};

/* Wall-clock time of an event, ns since 1970; since the boot if the stream does not know the wall clock. */
static inline uint64_t event_wall_ns(const struct event *ev)
{
	return ev->ts_ns + (uint64_t)ev->clock_offset_ns;
}

const struct section *event_section(const struct event *ev, enum sec_kind kind);

/* 0 or -ENOSPC. @data is borrowed. */
int event_add_section(struct event *ev, enum sec_kind kind, const void *data, uint32_t len);

/* Packet header and bytes of an event, checked against the section's length. NULL without a packet. */
const struct sec_packet *event_packet(const struct event *ev, const uint8_t **ret_data);

/* Adds SEC_PACKET: @head and head->cap_len bytes of @data, copied to @scratch. 0, -ENOMEM or -ENOSPC. */
int event_add_packet(struct event *ev, const struct sec_packet *head, const void *data, struct arena *scratch);

/* TCP payload of a packet: sequence number of its first byte, bytes. False if it has none. */
bool packet_keys_tcp_range(const struct event *ev, uint32_t *ret_seq, uint32_t *ret_len);

/* Connection of a dissected packet; *ret stays unchanged without an IP header. */
void packet_keys_conn_from_flow(struct conn *ret, const struct packet_flow *f);

/* Process of an event, or NULL. */
const struct sec_proc *event_proc(const struct event *ev);
const char *event_sec_proc_str(const struct sec_proc *p, const struct section *s, struct sec_str str,
			       size_t *ret_len);

/* Fact of a state event with all that its kind has, or NULL. */
const struct sec_state *event_state(const struct event *ev);
/* A string of it (no NUL), or NULL if it is empty. */
const char *event_state_text(const struct event *ev, struct sec_str str);

/* Open file of an event, or NULL. */
const struct sec_file *event_file(const struct event *ev);
extern const struct xlat file_kind_xlat;

/*
 * Number of a call from its key (process, connection, stream, @opened_ns): the same in each replay and in all of its
 * events. 48 bits, shown as CALL_ID_DIGITS hex digits; never 0. Without a connection the goroutine is in the key.
 */
#define CALL_ID_DIGITS 12
uint64_t event_call_id(const struct event *ev, uint64_t opened_ns);

/* Appends "nginx[812]", or "[812]" for a process without a name. @id: a process or thread id. */
void event_who(const struct event *ev, uint32_t id, struct buf *out);

/* ---- event types ---- */

extern const struct xlat direction_xlat;	/* direction of a packet at its interface: unknown, in, out */
extern const struct xlat ident_how_xlat;    /* SONDE_HOW_* */
extern const struct xlat ident_stream_xlat; /* SONDE_ID_F_TX, SONDE_ID_F_RX */

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
	FIELD_GET,	/* read by desc->get */
	FIELD__MAX,
};

#define FIELD_OPTIONAL 1	/* 0 means unknown: absent in text and JSON, false in filters */
#define FIELD_EITHER 2		/* common fields only: either of the next two rows */
#define FIELD_ALIAS 4		/* a second name; filters only */
#define FIELD_ARGUMENT 16	/* name continues with .ARG or [ARG]; the getter finds it in `arg` */
#define FIELD_SILENT 32		/* for filters and formats; generic text and JSON omit it */
#define FIELD_SHOWN 64		/* set on a copy: printable form of the value (dots in a buffer), not its bytes */
#define FIELD_ALSO 128		/* set on a copy: the row belongs to desc->also */
#define FIELD_SHORT 256		/* an id: its first ID_SHORT digits suffice */
#define FIELD_LABEL 512		/* distinguishes counters: a label in metrics */
#define FIELD_TOTAL 1024		/* a counter: sum since the start */
#define FIELD_WITHIN 2048	/* distance from the time in `arg`: "=" in filters means at most */
#define FIELD_OPEN 4096		/* a string without content: names of processes, containers, interfaces, reasons */
#define FIELD_OTHERS 8192	/* content of a process other than the event's, such as its parent's command line */
#define FIELD_PORT 16384		/* TCP or UDP port: filters accept the name of a service */
#define FIELD_OWN 32768		/* not a field of the types whose desc->also has the row */
#define FIELD_PACKET 8		/* repeats SEC_PACKET: outputs that write the packet omit it */

#define ID_SHORT 12		/* digits that container engines and sysdig print */

struct field {
	const char *name;	/* name in filters, "drop.reason"; the JSON key is the part after the dot */
	enum field_kind kind;
	uint16_t off, size;	/* in the body, bytes */
	uint16_t flags;
	uint16_t space;		/* FIELD_NAME: SONDE_NAME_* */
	uint16_t like;		/* FIELD_GET: FIELD_LIKE() of the kind of its values, for filters; 0 = any */
	const struct xlat *xlat;
	const char *doc;
	const char *key;	/* JSON key if the part after the dot is ambiguous; NULL = that part */
	const char *arg;	/* argument, in a copy of a FIELD_ARGUMENT row; NULL = none */
};

/*
 * Row named @name: an exact match, or the FIELD_ARGUMENT row that @name begins with. The argument is stored in
 * *ret_arg, *ret_arg_len (NULL, 0 without one). NULL if no row matches.
 */
const struct field *event_field_find(const struct field *fields, size_t n, const char *name, const char **ret_arg,
				     size_t *ret_arg_len);
/* The same where the argument does not matter. */
const struct field *event_field_named(const struct field *fields, size_t n, const char *name);

/* The same in d->also, without rows marked FIELD_OWN. */
const struct field *event_field_also(const struct event_desc *d, const char *name, const char **ret_arg,
				     size_t *ret_arg_len);

#define FIELD_LIKE(kind) ((kind) + 1)

#define FIELD_ROW(type, member, name_, kind_, doc_, ...) \
	{ .name = (name_), .kind = (kind_), .off = offsetof(type, member), .size = sizeof(((type *)0)->member), \
	  .doc = (doc_), ##__VA_ARGS__ }

enum time_mode { TIME_LOCAL, TIME_RFC3339, TIME_EPOCH, TIME_DELTA, TIME_REL, TIME_MONO, TIME_NONE, TIME__MAX };

/* Options of text output, borrowed for one call of a line function. */

struct line_opts {
	unsigned verbose;	/* -v, -vv */
	bool hex;		/* hex dump instead of dissection */
	bool numeric;		/* print numbers instead of names */
	unsigned string_bytes;	/* maximum bytes of a string in a line; 0 = default of the type */
	const char *format;	/* NULL = native; "cilium", "sysdig", "strace" where the type supports it */
	const struct format *print; /* user-defined line format (event/format.h); NULL = none */
};

/* Role of a type in the stream. */
enum event_class {
	EVENT_DATA,	/* counted by the ledger and shown */
	EVENT_STATE,	/* updates tables (processes, names); shown if a filter names the type */
	EVENT_META,	/* about the stream itself (loss, ledger); filters never drop it */
	EVENT__MAX,
};

struct event_desc {
	uint16_t type;		/* SONDE_EV_* */
	const char *name;	/* "net.drop" */
	const char *doc;
	enum event_class class;
	bool table;		/* lines are rows of a table and carry no time */
	bool aggregate;		/* sums over many processes: the source applied the filter */
	const struct field *fields;
	uint16_t n_fields;
	uint16_t body_size;	/* size of the fixed part */
	uint32_t sections;	/* bits 1u << kind: sections that may be present */
	/* Method and path of the call that the event is of; what is unknown stays. NULL = the type names no call. */
	void (*call_names)(const struct event *ev, struct value *ret_method, struct value *ret_path);
	/*
	 * A type whose fields these events have as well, read through its get(); the type's own fields take
	 * precedence. Outputs that list all fields omit them. NULL = none.
	 */
	const struct event_desc *also;

	/* Reads a FIELD_GET field. 0, or -ENOENT if this event lacks it. */
	int (*get)(const struct event *ev, const struct field *f, struct value *ret);

	/*
	 * Text form: one line (several with -vv), each ending in
	 * . Untrusted strings go through str_escape_buf(). The sink prints the time before it. An event that adds
	 * nothing is hidden. NULL = "name key=value ...".
	 */
	int (*line)(const struct event *ev, const struct line_opts *o, struct buf *out);

	/*
	 * Builds a section (enum sec_kind, one of `sections`) on demand, in @scratch. 0, -ENOENT if this event has
	 * none, or -ENOMEM. Optional.
	 */
	int (*make)(struct event *ev, unsigned kind, struct arena *scratch);
};

/*
 * Does @name stand for events of this type? The whole name (net.drop) does, and of events of data that give evt.type
 * no meaning of their own the part behind the dot (drop).
 */
bool event_desc_is_called(const struct event_desc *d, const char *name);

/* Reads one field. 0, or -ENOENT if it is unknown: optional and 0, absent, or hidden. */
int event_get(const struct event *ev, const struct field *f, struct value *ret);
/* The same; VAL_NONE where it is unknown or @f is NULL. */
struct value event_value(const struct event *ev, const struct field *f);

/*
 * Copies @ev without content: flags decide on fields, the kind on sections, which are truncated or dropped. Drops
 * sections for which @scratch has no memory.
 */
void event_hide_content(const struct event *ev, struct arena *scratch, struct event *ret);

/*
 * Source of a field's value, for writers of many events of a type: @size bytes at @off of a part of the event.
 * For kinds that have names, these and the event's names (names.h); of FIELD_IFACE the key's netns as well.
 */
enum event_part {
	EVENT_PART_NONE, /* event_get() alone knows */
	EVENT_PART_HEAD, /* of struct event: an unsigned number, 0 = unknown, or a struct ipaddr */
	EVENT_PART_BODY, /* as the field's row says */
	EVENT_PART_PROC, /* of struct sec_proc in SEC_PROC: a struct sec_str */
	EVENT_PART__MAX,
};
struct event_place {
	enum event_part part;
	uint16_t off, size;
};
struct event_place event_field_place(const struct field *f);
struct event_place event_field_place_common(const struct field *f); /* of event_common_fields */

/* Reads the number behind a field instead of its name. 0, or -ENOENT as above or if the field is not a number. */
int event_get_number(const struct event *ev, const struct field *f, uint64_t *ret);

/*
 * Text form of an event without its time: desc->line, or "name key=value ...". Ends in
 * . 0 or -errno.
 */
int event_line(const struct event *ev, const struct line_opts *o, struct buf *out);

/* Second part of the field's name: "reason" of "drop.reason". */
const char *event_field_key(const struct field *f);

/* ---- registry: event types of one pipeline ---- */

struct registry *registry_new(void);	/* with the core types */
void registry_free(struct registry *r);
/* Adds a NULL-terminated static array. -EEXIST if a number or name is taken. */
int registry_add(struct registry *r, const struct event_desc *const *descs);
const struct event_desc *registry_find(const struct registry *r, uint16_t type);
const struct event_desc *registry_find_name(const struct registry *r, const char *name);
const struct event_desc *registry_next(const struct registry *r, size_t *pos); /* NULL at the end */

/*
 * Fields of every event, whatever its type: evt.type evt.time evt.cpu evt.num evt.dir proc.pid proc.name proc.exe
 * proc.args proc.ppid proc.uid thread.tid container.id container.image cgroup.id netns sock.cookie conn.src conn.dst
 * conn.sport conn.dport fd.ip fd.port fd.proto ... All rows are FIELD_GET.
 */
extern const struct field event_common_fields[];
extern const size_t event_n_common_fields;
int event_get_common(const struct event *ev, const struct field *f, struct value *ret);

#endif
