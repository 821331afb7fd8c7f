// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events beside system calls: context switch, signal, page fault, exit, io_uring request. The body is the record
 * without its header. All but io_uring have libscap's parameters too.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/event.h"
#include "event/params.h"
#include "probes/sys/print/sys_text.h"
#include "probes/sys/sys_event.h"
#include "scap/event.h"
#include "scap/schema.h"

/* Layout of the records. */
struct switch_body {
	uint32_t next_tgid, next_tid, preempted, ran_us;
	uint64_t maj_faults, min_faults, vm_size_kb, vm_rss_kb, vm_swap_kb;
	char next_comm[16];
};
struct signal_body {
	uint32_t signo;
	int32_t code;
	uint32_t from_pid, from_uid;
	uint64_t handler, addr, utime, stime;
	int32_t status;
	uint32_t pad;
};
struct fault_body { uint64_t addr, ip, error; uint32_t kernel, pad; };
struct procexit_body { uint32_t code, ran_us; };
struct uring_body { uint64_t ring, req, user_data; int64_t res; uint32_t flags; uint8_t what, opcode; uint16_t pad; };

/* @last: a member whose offset shifts if an earlier member differs. */
#define IS_BODY_OF(body, rec, last) \
	_Static_assert(sizeof(struct body) == sizeof(struct rec) - sizeof(struct sonde_rec) && \
		       offsetof(struct body, last) == offsetof(struct rec, last) - sizeof(struct sonde_rec), \
		       "the record's body")
IS_BODY_OF(switch_body, sys_switch_rec, next_comm);
IS_BODY_OF(signal_body, sys_signal_rec, status);
IS_BODY_OF(fault_body, sys_fault_rec, kernel);
IS_BODY_OF(procexit_body, sys_procexit_rec, code);
IS_BODY_OF(uring_body, sys_uring_rec, opcode);

/* ---- libscap's parameters ---- */

/* Bits of x86's error code; libscap has a flag for each state of the first three bits. */
static uint32_t fault_bits(uint64_t error)
{
	static const struct { uint64_t bit; uint32_t set, clear; } bits[] = {
		{ 1, 1, 2 }, { 2, 4, 8 }, { 4, 0x10, 0x20 }, { 8, 0x40, 0 }, { 16, 0x80, 0 },
	};
	uint32_t out = 0;

	for (size_t i = 0; i < ARRAY_SIZE(bits); i++)
		out |= error & bits[i].bit ? bits[i].set : bits[i].clear;
	return out;
}

static void set_ran(struct params_out *o, uint32_t us)
{
	o->head.flags |= us ? PARAMS_HAS_RAN : 0;
	o->head.ran_us = us;
}

static void add_switch(const struct event *ev, struct params_out *o)
{
	const struct switch_body *b = ev->body;

	params_begin(o, SCAP_SCHEDSWITCH_6_E, ev->tid);
	set_ran(o, b->ran_us);
	params_add_u64(o, b->next_tid);
	params_add_u64(o, b->maj_faults);
	params_add_u64(o, b->min_faults);
	params_add_u32(o, (uint32_t)b->vm_size_kb);
	params_add_u32(o, (uint32_t)b->vm_rss_kb);
	params_add_u32(o, (uint32_t)b->vm_swap_kb);
}

static void add_signal(const struct event *ev, struct params_out *o)
{
	const struct signal_body *b = ev->body;

	params_begin(o, SCAP_SIGNALDELIVER_E, ev->tid);
	params_add_u64(o, b->from_pid);
	params_add_u64(o, ev->tid);
	params_add_u8(o, (uint8_t)b->signo);
}

static void add_fault(const struct event *ev, struct params_out *o)
{
	const struct fault_body *b = ev->body;

	params_begin(o, SCAP_PAGE_FAULT_E, ev->tid);
	params_add_u64(o, b->addr);
	params_add_u64(o, b->ip);
	params_add_u32(o, fault_bits(b->error));
}

static void add_procexit(const struct event *ev, struct params_out *o)
{
	const struct procexit_body *b = ev->body;
	uint32_t signo = b->code & 0x7f;

	params_begin(o, SCAP_PROCEXIT_1_E, ev->tid);
	set_ran(o, b->ran_us);
	params_add_u64(o, b->code);
	params_add_u64(o, signo ? 0 : b->code >> 8 & 0xff);
	params_add_u8(o, (uint8_t)signo);
	params_add_u8(o, (b->code & 0x80) != 0);
}

static const struct {
	const struct event_desc *desc;
	uint16_t type;
	void (*add)(const struct event *ev, struct params_out *o);
} kinds[] = {
	{ &sys_switch_desc, SCAP_SCHEDSWITCH_6_E, add_switch },
	{ &sys_signal_desc, SCAP_SIGNALDELIVER_E, add_signal },
	{ &sys_fault_desc, SCAP_PAGE_FAULT_E, add_fault }, { &sys_procexit_desc, SCAP_PROCEXIT_1_E, add_procexit },
};

static int make_params(struct event *ev, unsigned kind, struct arena *scratch)
{
	struct params_out out = { 0 };
	const void *data;
	uint32_t len;

	if (kind != SEC_PARAMS)
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].desc == ev->desc)
			kinds[i].add(ev, &out);
	data = params_finish(&out, scratch, &len);
	params_out_fini(&out);
	return data ? event_add_section(ev, SEC_PARAMS, data, len) : -ENOMEM;
}

/* ---- lines ---- */

static int switch_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct switch_body *b = ev->body;

	sys_event_text_who(ev, o, out);
	buf_add_str(out, "--- switch to ");
	str_escape_buf(out, b->next_comm, strnlen(b->next_comm, sizeof(b->next_comm)));
	return buf_printf(out, "[%u]%s ---\n", b->next_tid, b->preempted ? ", preempted" : "");
}

#define SIG_ILL 4
#define SIG_BUS 7
#define SIG_FPE 8
#define SIG_SEGV 11
#define SIG_CHLD 17
#define SIG_KILL 9

/* Names of si_code: for all signals first, then by signal. */
static const struct { uint32_t signo; int32_t code; const char *name; } codes[] = {
	{ 0, 0, "SI_USER" }, { 0, 0x80, "SI_KERNEL" }, { 0, -1, "SI_QUEUE" }, { 0, -2, "SI_TIMER" },
	{ 0, -3, "SI_MESGQ" }, { 0, -4, "SI_ASYNCIO" }, { 0, -5, "SI_SIGIO" }, { 0, -6, "SI_TKILL" },
	{ SIG_CHLD, 1, "CLD_EXITED" }, { SIG_CHLD, 2, "CLD_KILLED" }, { SIG_CHLD, 3, "CLD_DUMPED" },
	{ SIG_CHLD, 4, "CLD_TRAPPED" }, { SIG_CHLD, 5, "CLD_STOPPED" }, { SIG_CHLD, 6, "CLD_CONTINUED" },
	{ SIG_SEGV, 1, "SEGV_MAPERR" }, { SIG_SEGV, 2, "SEGV_ACCERR" }, { SIG_BUS, 1, "BUS_ADRALN" },
	{ SIG_BUS, 2, "BUS_ADRERR" }, { SIG_BUS, 3, "BUS_OBJERR" }, { SIG_FPE, 1, "FPE_INTDIV" },
	{ SIG_FPE, 2, "FPE_INTOVF" }, { SIG_FPE, 3, "FPE_FLTDIV" }, { SIG_ILL, 1, "ILL_ILLOPC" },
	{ SIG_ILL, 2, "ILL_ILLOPN" },
};

static void add_code(const struct signal_body *b, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		if (codes[i].code == b->code && (!codes[i].signo || codes[i].signo == b->signo)) {
			buf_add_str(out, codes[i].name);
			return;
		}
	}
	buf_printf(out, "%#x", (uint32_t)b->code);
}

/* Hundredths of a second on every architecture. */
static void add_ticks(const char *name, uint64_t ticks, struct buf *out)
{
	buf_printf(out, ", %s=%" PRIu64, name, ticks);
	if (ticks)
		buf_printf(out, " /* %" PRIu64 ".%02" PRIu64 " s */", ticks / 100, ticks % 100);
}

static void add_child(const struct signal_body *b, struct buf *out)
{
	buf_add_str(out, ", si_status=");
	if (b->code == 1)
		buf_printf(out, "%d", b->status);
	else
		sys_text_signal((uint32_t)b->status, out);
	add_ticks("si_utime", b->utime, out);
	add_ticks("si_stime", b->stime, out);
}

static bool is_fault(const struct signal_body *b)
{
	return b->code > 0 && b->code < 0x80 && (b->signo == SIG_ILL || b->signo == SIG_BUS || b->signo == SIG_FPE ||
						 b->signo == SIG_SEGV);
}

static int signal_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct signal_body *b = ev->body;
	bool child = b->signo == SIG_CHLD && b->code > 0 && b->code < 7;

	if (sys_event_text_strace(o) && b->signo == SIG_KILL)
		return 0;	/* ptrace(2) does not report it */
	sys_event_text_who(ev, o, out);
	buf_add_str(out, "--- ");
	sys_text_signal(b->signo, out);
	buf_add_str(out, " {si_signo=");
	sys_text_signal(b->signo, out);
	buf_add_str(out, ", si_code=");
	add_code(b, out);
	if (b->from_pid || child)
		buf_printf(out, ", si_pid=%u, si_uid=%u", b->from_pid, b->from_uid);
	if (child)
		add_child(b, out);
	if (is_fault(b))
		buf_printf(out, b->addr ? ", si_addr=%#" PRIx64 : ", si_addr=NULL", b->addr);
	return buf_add_str(out, b->handler == 1 && !sys_event_text_strace(o) ? "}, ignored ---\n" : "} ---\n");
}

static int fault_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct fault_body *b = ev->body;

	sys_event_text_who(ev, o, out);
	return buf_printf(out, "--- page fault at %#" PRIx64 ", ip %#" PRIx64 ", error %" PRIu64 "%s ---\n", b->addr,
			  b->ip, b->error, b->kernel ? ", in the kernel" : "");
}

static int procexit_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct procexit_body *b = ev->body;

	sys_event_text_who(ev, o, out);
	if (!(b->code & 0x7f))
		return buf_printf(out, "+++ exited with %u +++\n", b->code >> 8 & 0xff);
	buf_add_str(out, "+++ killed by ");
	sys_text_signal(b->code & 0x7f, out);
	return buf_add_str(out, b->code & 0x80 ? " (core dumped) +++\n" : " +++\n");
}

static const struct sys_xlat *opcodes(void)
{
	return sys_table_xlat_named("uring_op");
}

static int uring_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct uring_body *b = ev->body;

	sys_event_text_who(ev, o, out);
	buf_add_str(out, b->what == SYS_URING_SUBMIT ? "--- io_uring submits " : "--- io_uring completes ");
	sys_text_xlat(opcodes(), b->opcode, out);
	buf_printf(out, " user_data=%#" PRIx64, b->user_data);
	if (b->what == SYS_URING_COMPLETE)
		buf_printf(out, " res=%" PRId64, b->res);
	return buf_add_str(out, " ---\n");
}

/* ---- the types ---- */

/* sysdig's fields that need no state tables, as in sys_event.c. */
enum { GET_TYPE, GET_DIR, GET_LATENCY };

static int trace_get(const struct event *ev, const struct field *f, struct value *ret)
{
	const char *text = f->off == GET_DIR ? ">" : NULL;

	for (size_t i = 0; f->off == GET_TYPE && i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].desc == ev->desc)
			text = scap_schema_event_info(kinds[i].type)->name;
	return value_set_text(ret, text);
}

#define SYSDIG(word, what, kind_, doc_, ...) \
	{ .name = (word), .kind = FIELD_GET, .off = (what), .like = FIELD_LIKE(kind_), .doc = (doc_), \
	  .flags = FIELD_SILENT, ##__VA_ARGS__ }
#define SYSDIG_ROWS \
	SYSDIG("evt.type", GET_TYPE, FIELD_STR, "sysdig's name of the event", .xlat = &scap_type_names, \
	    .flags = FIELD_OPEN | FIELD_SILENT), \
	SYSDIG("evt.dir", GET_DIR, FIELD_STR, "> always", .flags = FIELD_OPEN | FIELD_SILENT), \
	SYSDIG("evt.latency", GET_LATENCY, FIELD_NS, "none")

static const struct field switch_fields[] = {
	FIELD_ROW(struct switch_body, next_tid, "switch.next", FIELD_UINT, "thread that gets the CPU"),
	FIELD_ROW(struct switch_body, next_tgid, "switch.next_pid", FIELD_UINT, "its process"),
	FIELD_ROW(struct switch_body, next_comm, "switch.next_comm", FIELD_STR, "its name",
		  .flags = FIELD_OPEN),
	FIELD_ROW(struct switch_body, preempted, "switch.preempted", FIELD_UINT, "1: the thread was still runnable"),
	FIELD_ROW(struct switch_body, ran_us, "switch.ran_us", FIELD_UINT, "time on the CPU, us; 0 = unknown"),
	FIELD_ROW(struct switch_body, maj_faults, "switch.major_faults", FIELD_UINT, "since the start of the thread"),
	FIELD_ROW(struct switch_body, min_faults, "switch.minor_faults", FIELD_UINT, "since the start of the thread"),
	FIELD_ROW(struct switch_body, vm_size_kb, "switch.vm_size", FIELD_UINT, "address space, KiB"),
	FIELD_ROW(struct switch_body, vm_rss_kb, "switch.vm_rss", FIELD_UINT, "resident memory, KiB"),
	FIELD_ROW(struct switch_body, vm_swap_kb, "switch.vm_swap", FIELD_UINT, "swapped memory, KiB"),
	SYSDIG_ROWS,
};
static const struct field signal_fields[] = {
	FIELD_ROW(struct signal_body, signo, "signal.number", FIELD_UINT, "the signal"),
	FIELD_ROW(struct signal_body, code, "signal.code", FIELD_INT, "SI_*: origin"),
	FIELD_ROW(struct signal_body, from_pid, "signal.from", FIELD_UINT, "sender", .flags = FIELD_OPTIONAL),
	FIELD_ROW(struct signal_body, from_uid, "signal.from_uid", FIELD_UINT,
		  "user of the sender", .flags = FIELD_OPTIONAL),
	FIELD_ROW(struct signal_body, handler, "signal.handler", FIELD_HEX, "0 = default, 1 = ignored"),
	FIELD_ROW(struct signal_body, addr, "signal.addr", FIELD_HEX, "fault address", .flags = FIELD_OPTIONAL),
	FIELD_ROW(struct signal_body, status, "signal.status", FIELD_INT, "of a child: exit status or signal",
		  .flags = FIELD_OPTIONAL),
	SYSDIG_ROWS,
};
static const struct field fault_fields[] = {
	FIELD_ROW(struct fault_body, addr, "fault.addr", FIELD_HEX, "faulting address"),
	FIELD_ROW(struct fault_body, ip, "fault.ip", FIELD_HEX, "faulting instruction"),
	FIELD_ROW(struct fault_body, error, "fault.error", FIELD_HEX, "error code of the architecture"),
	FIELD_ROW(struct fault_body, kernel, "fault.kernel", FIELD_UINT, "1: in kernel mode"),
	SYSDIG_ROWS,
};
static const struct field procexit_fields[] = {
	FIELD_ROW(struct procexit_body, code, "exit.code", FIELD_UINT, "status as in wait(2)"),
	FIELD_ROW(struct procexit_body, ran_us, "exit.ran_us", FIELD_UINT,
		  "time on the CPU since the last switch, us; 0 = unknown"),
	SYSDIG_ROWS,
};
static const struct xlat_val what_vals[] = { { SYS_URING_SUBMIT, "submit" }, { SYS_URING_COMPLETE, "complete" } };
static const struct xlat what_xlat = { .name = "uring_what", .vals = what_vals, .n = ARRAY_SIZE(what_vals) };

enum { GET_OPCODE };

static int uring_get(const struct event *ev, _unused_ const struct field *f, struct value *ret)
{
	const struct uring_body *b = ev->body;
	const char *name = xlat_name(&opcodes()->x, b->opcode);

	*ret = (struct value){ .kind = name ? VAL_STR : VAL_UINT, .u = b->opcode, .has_number = true,
			       .str = name, .len = name ? strlen(name) : 0 };
	return 0;
}

static const struct field uring_fields[] = {
	FIELD_ROW(struct uring_body, what, "uring.what", FIELD_ENUM, "submit or complete", .xlat = &what_xlat),
	{ .name = "uring.opcode", .kind = FIELD_GET, .off = GET_OPCODE, .like = FIELD_LIKE(FIELD_STR),
	  .doc = "operation", .flags = FIELD_OPEN },
	FIELD_ROW(struct uring_body, user_data, "uring.user_data", FIELD_HEX, "the program's id of the request"),
	FIELD_ROW(struct uring_body, req, "uring.request", FIELD_HEX, "matches submission and completion"),
	FIELD_ROW(struct uring_body, ring, "uring.ring", FIELD_HEX, "the kernel's ring"),
	FIELD_ROW(struct uring_body, res, "uring.result", FIELD_INT, "of a completion"),
	FIELD_ROW(struct uring_body, flags, "uring.flags", FIELD_HEX, "IOSQE_* or IORING_CQE_F_*"),
};

#define DESC(number, event, text, rows, body) \
	.type = (number), .name = (event), .doc = (text), .class = EVENT_DATA, .fields = (rows), \
	.n_fields = ARRAY_SIZE(rows), .body_size = sizeof(struct body)
#define WITH_PARAMS .sections = 1u << SEC_PROC | 1u << SEC_PARAMS, .also = &scap_event_desc, \
	.make = make_params, .get = trace_get

const struct event_desc sys_switch_desc = {
	DESC(SYS_REC_SWITCH, "sys.switch", "context switch", switch_fields, switch_body), WITH_PARAMS,
	.line = switch_line,
};
const struct event_desc sys_signal_desc = {
	DESC(SYS_REC_SIGNAL, "sys.signal", "signal delivered", signal_fields, signal_body), WITH_PARAMS,
	.line = signal_line,
};
const struct event_desc sys_fault_desc = {
	DESC(SYS_REC_FAULT, "sys.fault", "a page fault", fault_fields, fault_body), WITH_PARAMS,
	.line = fault_line,
};
const struct event_desc sys_procexit_desc = {
	DESC(SYS_REC_PROCEXIT, "sys.procexit", "thread exit", procexit_fields, procexit_body), WITH_PARAMS,
	.line = procexit_line,
};
const struct event_desc sys_uring_desc = {
	DESC(SYS_REC_URING, "sys.uring", "io_uring request", uring_fields, uring_body),
	.sections = 1u << SEC_PROC, .get = uring_get, .line = uring_line,
};
