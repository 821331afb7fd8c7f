// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Event types of system calls: fields and text lines.
 */
#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/macros.h"
#include "base/str.h"
#include "probes/sys/print/sys_print.h"
#include "probes/sys/sys_event.h"
#include "probes/sys/sys_params.h"
#include "probes/sys/sys_map.h"
#include "scap/event.h"
#include "scap/schema.h"

#define STRING_SHOWN 32	/* longest string without -v or --string-bytes, bytes */
#define STRACE_TID_COLUMNS 5
#define RESULT_COLUMN 40	/* column of "= RESULT" in strace's format, unless the call is longer */

bool sys_event_text_strace(const struct line_opts *o)
{
	return o->format && !strcmp(o->format, "strace");
}

void sys_event_text_who(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const size_t from = out->len;

	if (sys_event_text_strace(o)) {
		buf_add_u64(out, ev->tid);
		buf_add_char(out, ' ');
		sys_print_pad(from + STRACE_TID_COLUMNS + 2, out);
	} else {
		event_who(ev, ev->tid, out);
		buf_add_char(out, ' ');
	}
}

/* strace names descriptors with -y only. */
static struct sys_print_opts opts_of(const struct event *ev, const struct line_opts *o)
{
	unsigned cap = o->verbose ? 0 : STRING_SHOWN;

	return (struct sys_print_opts){ .cap = o->string_bytes ? o->string_bytes : cap, .full = o->verbose,
					.file = sys_event_text_strace(o) ? NULL : event_file(ev) };
}

bool sys_event_is_birth(const struct sys_body *b)
{
	static const char *const births[] = { "fork", "vfork", "clone", "clone3" };
	const struct sys_call *call = b->ret ? NULL : sys_table_call_find(b->abi, b->nr);

	return call && ARRAY_FIND(it, births, !strcmp(call->name, *it));
}

static void add_latency(uint64_t ns, struct buf *out)
{
	buf_add(out, " <", 2);
	buf_add_u64(out, ns / 1000000000);
	buf_add_char(out, '.');
	buf_add_digits(out, (uint32_t)(ns % 1000000000 / 1000), 6);
	buf_add_char(out, '>');
}

static int exit_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct sys_body *b = sys_body_of(ev);
	size_t column = sys_event_text_strace(o) ? out->len + RESULT_COLUMN : 0;
	const struct sys_print_opts opts = opts_of(ev, o);

	if (!b)
		return -EBADMSG;
	if (sys_event_text_strace(o) && sys_event_is_birth(b))
		return 0;	/* the line of the parent shows it */
	sys_event_text_who(ev, o, out);
	sys_print_call(b, false, &opts, column, out);
	if (b->latency_ns)
		add_latency(b->latency_ns, out);
	return buf_add_char(out, '\n');
}

static int enter_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct sys_body *b = sys_body_of(ev);
	size_t column = sys_event_text_strace(o) ? out->len + RESULT_COLUMN : 0;
	const struct sys_print_opts opts = opts_of(ev, o);
	const struct sys_call *call;

	if (!b)
		return -EBADMSG;
	call = sys_table_call_find(b->abi, b->nr);
	sys_event_text_who(ev, o, out);
	sys_print_call(b, true, &opts, 0, out);
	/* a call without return has no second line */
	if (!call || call->ret != SYS_ARG_NONE)
		return buf_add_str(out, " ...\n");
	sys_print_pad(column, out);
	return buf_add_str(out, " = ?\n");
}

/* ---- words ---- */

#define TEXT_BYTES 512	/* of arguments without an allocation */

enum {
	GET_NAME,
	GET_CLASS,
	GET_ARGS,
	GET_ANSWER,
	GET_ERROR,
	GET_PATH,
	GET_TYPE,
	GET_ENTERED,
	GET_LEFT,
	GET_IS_FILE,
	GET_IS_DESC,
	GET_READ,
	GET_WRITTEN,
	GET_NONE
};

static int get_args(const struct event *ev, const struct sys_body *b, struct value *ret)
{
	char memory[TEXT_BYTES];
	struct buf text = buf_in(memory, sizeof(memory));
	const char *copy = NULL;

	sys_print_args(b, sys_body_is_entry(ev), &sys_print_all, &text);
	if (ev->scratch && text.len && !buf_error(&text))
		copy = arena_copy(ev->scratch, text.data, text.len);
	*ret = (struct value){ .kind = VAL_STR, .str = copy, .len = text.len };
	buf_fini(&text);
	return copy ? 0 : -ENOENT;
}

static int get_answer(const struct event *ev, const struct sys_body *b, struct value *ret)
{
	char memory[TEXT_BYTES];
	struct buf text = buf_in(memory, sizeof(memory));
	const char *copy = NULL;

	sys_result_print_answer(b, "", &text);
	if (ev->scratch && text.len && !buf_error(&text))
		copy = arena_copy(ev->scratch, text.data + 1, text.len - 2);	/* without the parentheses */
	*ret = (struct value){ .kind = VAL_STR, .str = copy, .len = copy ? text.len - 2 : 0 };
	buf_fini(&text);
	return copy ? 0 : -ENOENT;
}

/* First path argument as the program wrote it; after exec the requested name. */
static int get_path(const struct sys_body *b, const struct sys_call *call, struct value *ret)
{
	int i = call ? sys_map_path_arg(call) : -1;
	struct sys_bytes s;
	struct sys_image m;

	if (i < 0)
		return -ENOENT;
	s = sys_body_chunk(b, (unsigned)i, SYS_CHUNK_STR);
	*ret = (struct value){ .kind = VAL_STR, .str = (const char *)s.data, .len = s.len };
	if (s.there && (s.len || !(s.flags & SYS_CHUNK_F_FAULT)))
		return 0;
	if (s.there || !sys_body_image(b, &m) || !m.proc.name_len)
		return -ENOENT;
	return value_set_chars(ret, (const char *)m.name, m.proc.name_len);
}

/* Bytes that a successful call of the class moved. */
static int get_bytes(const struct sys_body *b, const struct sys_call *call, enum sys_class class, struct value *ret)
{
	if (!call || call->class != class || call->ret != SYS_ARG_SIZE || b->ret < 0)
		return -ENOENT;
	return value_set_uint(ret, (uint64_t)b->ret);
}

static int call_get(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct sys_body *b = sys_body_of(ev);
	const struct sys_call *call = b ? sys_table_call_find(b->abi, b->nr) : NULL;

	if (!b)
		return -ENOENT;
	switch (f->off) {
	case GET_NAME: return value_set_text(ret, call ? call->name : NULL);
	case GET_CLASS: return value_set_text(ret, call ? sys_class_names[call->class] : NULL);
	case GET_ERROR:
		if (!sys_failed(b->ret))
			return -ENOENT;
		return value_set_text(ret, xlat_name(&sys_xlat_errno->x, (uint64_t)-b->ret));
	case GET_TYPE: return value_set_text(ret, sys_map_scap_name(call));
	case GET_ENTERED: return value_set_text(ret, ">");
	case GET_LEFT: return value_set_text(ret, "<");
	case GET_ARGS:
		return get_args(ev, b, ret);
	case GET_ANSWER:
		return get_answer(ev, b, ret);
	case GET_PATH:
		return get_path(b, call, ret);
	case GET_IS_FILE:
		return value_set_bool(ret, call && (call->flags & SYS_CALL_PATH || call->class == SYS_CLASS_FILE));
	case GET_IS_DESC: return value_set_bool(ret, call && call->flags & SYS_CALL_DESC);
	case GET_READ: return get_bytes(b, call, SYS_CLASS_IO_READ, ret);
	case GET_WRITTEN: return get_bytes(b, call, SYS_CLASS_IO_WRITE, ret);
	default: return -ENOENT;
	}
}

#define TEXT(word, what, doc_, ...) \
	{ .name = (word), .kind = FIELD_GET, .off = (what), .like = FIELD_LIKE(FIELD_STR), .doc = (doc_), \
	  ##__VA_ARGS__ }
#define ROW(member, word, kind, doc, ...) FIELD_ROW(struct sys_body, member, word, kind, doc, ##__VA_ARGS__)

static const struct xlat_val abi_vals[] = {
	{ SYS_ABI_X86_64, "x86_64" }, { SYS_ABI_I386, "i386" }, { SYS_ABI_ARM64, "arm64" }, { SYS_ABI_ARM, "arm" },
	{ SYS_ABI_X32, "x32" },
};
static const struct xlat abi_xlat = { .name = "abi", .vals = abi_vals, .n = ARRAY_SIZE(abi_vals) };
_Static_assert(ARRAY_SIZE(abi_vals) == SYS_ABI__MAX, "a name per ABI");

/* Fields of sysdig that depend on the number alone, without state tables. */
#define SYSDIG(word, what, doc_, ...) \
	{ .name = (word), .kind = FIELD_GET, .off = (what), .like = FIELD_LIKE(FIELD_STR), .doc = (doc_), \
	  .flags = FIELD_SILENT, ##__VA_ARGS__ }

#define IS(word, what, doc_) \
	{ \
		.name = (word), .kind = FIELD_GET, .off = (what), .like = FIELD_LIKE(FIELD_BOOL), .doc = (doc_), \
		.flags = FIELD_SILENT \
	}

#define BYTES(word, what, doc_) \
	{ \
		.name = (word), .kind = FIELD_GET, .off = (what), .like = FIELD_LIKE(FIELD_UINT), .doc = (doc_), \
		.flags = FIELD_SILENT \
	}

#define CALL_ROWS \
	TEXT("syscall.name", GET_NAME, "name of the system call", .flags = FIELD_OPEN), \
		TEXT("syscall.class", GET_CLASS, "category, as in sysdig", .flags = FIELD_OPEN), \
		ROW(nr, "syscall.nr", FIELD_UINT, "number in the ABI"), \
		ROW(abi, "syscall.abi", FIELD_ENUM, "ABI of the caller", .xlat = &abi_xlat), \
		TEXT("syscall.args", GET_ARGS, "arguments, in strace's format"), \
		SYSDIG("syscall.path", GET_PATH, "first path argument, as the program wrote it"), \
		IS("syscall.is_file", GET_IS_FILE, "does it take a path? strace's %file"), \
		IS("syscall.is_desc", GET_IS_DESC, "does it take a descriptor? strace's %desc"), \
		SYSDIG("evt.type", GET_TYPE, "sysdig's name of the call", .xlat = &scap_type_names, \
		       .flags = FIELD_OPEN | FIELD_SILENT)

static const struct field exit_fields[] = {
	CALL_ROWS,
	ROW(ret, "syscall.ret", FIELD_INT, "result; negative errno on failure"),
	TEXT("syscall.answer", GET_ANSWER, "values that the kernel stored over the arguments, in strace's format"),
	TEXT("syscall.error", GET_ERROR, "name of the error", .flags = FIELD_OPEN),
	ROW(latency_ns, "syscall.latency", FIELD_NS, "time since the call was entered", .flags = FIELD_OPTIONAL),
	ROW(latency_ns, "evt.latency", FIELD_NS, "time since the call was entered; 0 if unknown",
	    .flags = FIELD_SILENT),
	SYSDIG("evt.dir", GET_LEFT, "< at the exit of a call", .flags = FIELD_OPEN | FIELD_SILENT),
	BYTES("syscall.read", GET_READ, "bytes that the call read: result of read, recvmsg and the like"),
	BYTES("syscall.written", GET_WRITTEN, "bytes that it wrote: result of write, sendmsg and the like"),
};
static const struct field enter_fields[] = {
	CALL_ROWS,
	SYSDIG("evt.dir", GET_ENTERED, "> at entry", .flags = FIELD_OPEN | FIELD_SILENT),
	{ .name = "evt.latency", .kind = FIELD_GET, .off = GET_NONE, .like = FIELD_LIKE(FIELD_NS),
	  .doc = "none at entry", .flags = FIELD_SILENT },
};

const struct event_desc sys_exit_desc = {
	.type = SYS_REC_EXIT, .name = "sys.exit", .doc = "a system call returned", .class = EVENT_DATA,
	.fields = exit_fields, .n_fields = ARRAY_SIZE(exit_fields), .body_size = sizeof(struct sys_body),
	.sections = 1u << SEC_PROC | 1u << SEC_PARAMS | 1u << SEC_FILE, .also = &scap_event_desc, .get = call_get,
	.line = exit_line,
	.make = sys_params_make,
};
const struct event_desc sys_enter_desc = {
	.type = SYS_REC_ENTER, .name = "sys.enter", .doc = "a system call was entered", .class = EVENT_DATA,
	.fields = enter_fields, .n_fields = ARRAY_SIZE(enter_fields), .body_size = sizeof(struct sys_body),
	.sections = 1u << SEC_PROC | 1u << SEC_PARAMS | 1u << SEC_FILE, .also = &scap_event_desc, .get = call_get,
	.line = enter_line,
	.make = sys_params_make,
};

static const struct field gap_fields[] = {
	FIELD_ROW(struct sys_gap_body, missing, "gap.missing", FIELD_UINT, "lost records"),
	FIELD_ROW(struct sys_gap_body, since_ns, "gap.since", FIELD_NS,
		  "time of the last record before the gap, since boot"),
};

const struct event_desc sys_gap_desc = {
	.type = SYS_REC_GAP, .name = "sys.gap", .doc = "system calls of one CPU were lost here", .class = EVENT_META,
	.fields = gap_fields, .n_fields = ARRAY_SIZE(gap_fields), .body_size = sizeof(struct sys_gap_body),
};
