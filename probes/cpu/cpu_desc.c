// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fields and lines of the cpu events. Independent of records.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/event.h"
#include "event/names.h"
#include "probes/cpu/cpu_event.h"
#include "probes/cpu/cpu_wait.h"
#include "probes/cpu/cpu_wire.h"
#include "sonde/stack_wire.h"

#define ROW(member, word, kind, doc, ...) FIELD_ROW(struct cpu_body, member, word, kind, doc, ##__VA_ARGS__)

static const struct xlat_val end_vals[] = {
	{ SONDE_STACK_NONE, "none" }, { SONDE_STACK_BOTTOM, "complete" }, { SONDE_STACK_NO_TABLE, "no-table" },
	{ SONDE_STACK_NO_RULE, "no-rule" }, { SONDE_STACK_NO_MAPPING, "no-mapping" },
	{ SONDE_STACK_MEMORY, "unreadable" }, { SONDE_STACK_DEPTH, "too-deep" },
	{ SONDE_STACK_FP, "frame-pointers" }, { SONDE_STACK_RULE, "odd-rule" }, { SONDE_STACK_BUSY, "busy" },
};
_Static_assert(ARRAY_SIZE(end_vals) == SONDE_STACK__MAX, "each end has a name");
static const struct xlat end_xlat = { .name = "stack_end", .vals = end_vals, .n = ARRAY_SIZE(end_vals) };

static const struct xlat_val mode_vals[] = {
	{ CPU_MODE_KERNEL, "kernel" }, { CPU_MODE_IDLE, "idle" }, { CPU_MODE_PREEMPTED, "preempted" },
	{ CPU_MODE_USER_ASKED, "user-stack" }, { CPU_MODE_KERN_ASKED, "kernel-stack" },
	{ CPU_MODE_EVENTS, "events" }, { CPU_MODE_LATER, "walked-later" },
};
static const struct xlat mode_xlat = {
	.name = "stack_mode", .vals = mode_vals, .n = ARRAY_SIZE(mode_vals), .is_flags = true,
};

static const struct xlat_val state_vals[] = {
	{ CPU_STATE_RUNNABLE, "runnable" }, { CPU_STATE_SLEEPING, "sleeping" }, { CPU_STATE_DISK, "disk" },
	{ CPU_STATE_STOPPED, "stopped" }, { CPU_STATE_TRACED, "traced" }, { CPU_STATE_PARKED, "parked" },
	{ CPU_STATE_IDLE, "idle" }, { CPU_STATE_OTHER, "other" },
};
_Static_assert(ARRAY_SIZE(state_vals) == CPU_STATE__MAX, "each state has a name");
static const struct xlat state_xlat = { .name = "thread_state", .vals = state_vals, .n = ARRAY_SIZE(state_vals) };

static const struct xlat_val waker_vals[] = {
	{ CPU_WAKER_SOFTIRQ, "softirq" }, { CPU_WAKER_HARDIRQ, "hardirq" }, { CPU_WAKER_INTERRUPT, "interrupt" },
	{ CPU_WAKER_IDLE, "idle" },
};
static const struct xlat waker_xlat = { .name = "waker", .vals = waker_vals, .n = ARRAY_SIZE(waker_vals) };

/* ---- lines ---- */

static void put_who(const struct event *ev, struct buf *out)
{
	const struct cpu_body *b = ev->body;

	str_escape_buf(out, b->comm, strnlen(b->comm, sizeof(b->comm)));
	buf_printf(out, "[%u]", ev->tgid);
	if (ev->tid != ev->tgid)
		buf_printf(out, " thread %u", ev->tid);
}

static void put_ms(struct buf *out, uint64_t ns)
{
	buf_printf(out, "%llu.%03llu ms", (unsigned long long)(ns / 1000000),
		   (unsigned long long)(ns / 1000 % 1000));
}

static void put_address(const struct event *ev, uint64_t addr, bool kernel, struct buf *out)
{
	const char *name = kernel ? event_names_get(ev->names, SONDE_NAME_KSYM, addr) : NULL;

	if (name)
		str_escape_buf(out, name, strlen(name));
	else
		buf_printf(out, "0x%llx", (unsigned long long)addr);
}

static size_t frames_of(const struct event *ev, enum sec_kind kind, const uint64_t **ret)
{
	const struct section *s = event_section(ev, kind);

	*ret = s ? s->data : NULL;
	return s ? s->len / sizeof(**ret) : 0;
}

/* " in do_sys_open+0x3": the innermost frame there is. */
static void put_place(const struct event *ev, struct buf *out)
{
	const uint64_t *kern, *user;
	size_t n_kern = frames_of(ev, SEC_STACK_KERN, &kern), n_user = frames_of(ev, SEC_STACK_USER, &user);

	if (!n_kern && !n_user)
		return;
	buf_add_str(out, " in ");
	put_address(ev, n_kern ? kern[0] : user[0], n_kern > 0, out);
}

static void put_frames(const struct event *ev, enum sec_kind kind, struct buf *out)
{
	const uint64_t *ips;
	size_t n = frames_of(ev, kind, &ips);

	for (size_t i = 0; i < n; i++) {
		buf_add_str(out, "        ");
		put_address(ev, ips[i], kind == SEC_STACK_KERN, out);
		buf_add_char(out, '\n');
	}
}

static int put_rest(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct cpu_body *b = ev->body;
	const char *end = xlat_name(&end_xlat, b->user_end);

	put_place(ev, out);
	buf_add_char(out, '\n');
	if (!o->verbose)
		return buf_error(out);
	put_frames(ev, SEC_STACK_KERN, out);
	put_frames(ev, SEC_STACK_USER, out);
	if (b->user_end > SONDE_STACK_BOTTOM && end)
		buf_printf(out, "        [ends: %s]\n", end);
	return buf_error(out);
}

/* "cpu 1 runs stress[812] kernel in do_sys_open+0x3" */
static int sample_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct cpu_body *b = ev->body;

	buf_printf(out, "cpu %u runs ", ev->cpu);
	put_who(ev, out);
	buf_add_str(out, b->mode & CPU_MODE_IDLE ? " idle" : b->mode & CPU_MODE_KERNEL ? " kernel" : " user");
	if (b->count > 1)
		buf_printf(out, " x%u", b->count);
	return put_rest(ev, o, out);
}

/* ", woken by front[812] thread 815 goroutine 7", ", woken by softirq" */
static void put_waker(const struct cpu_wait *w, struct buf *out)
{
	const char *irq = xlat_name(&waker_xlat, w->waker);

	if (w->waker == CPU_WAKER_UNKNOWN)
		return;
	buf_add_str(out, ", woken by ");
	if (w->waker != CPU_WAKER_THREAD) {
		buf_add_str(out, irq ? irq : "?");
		return;
	}
	str_escape_buf(out, w->waker_comm, strnlen(w->waker_comm, sizeof(w->waker_comm)));
	buf_printf(out, "[%u]", w->waker_tgid);
	if (w->waker_tid != w->waker_tgid)
		buf_printf(out, " thread %u", w->waker_tid);
	if (w->waker_goid)
		buf_printf(out, " goroutine %llu", (unsigned long long)w->waker_goid);
}

/* NULL: no quota was used up, or the name of its cgroup is unknown. */
static const char *quota_cgroup(const struct event *ev)
{
	const struct cpu_block *b = ev->body;
	const uint32_t space = b->wait.quota_of == CPU_QUOTA_V1 ? SONDE_NAME_CPU_CGROUP : SONDE_NAME_CGROUP;

	return b->wait.quota_of ? event_names_get(ev->names, space, b->quota.cgroup_id) : NULL;
}

/* " by /web (10.000 ms of CPU time per 100.000 ms)" */
static void put_quota(const struct event *ev, struct buf *out)
{
	const struct cpu_quota *q = &((const struct cpu_block *)ev->body)->quota;
	const char *cgroup = quota_cgroup(ev);

	if (!q->period_ns)
		return;
	buf_add_str(out, " by ");
	if (cgroup)
		str_escape_buf(out, cgroup, strlen(cgroup));
	else
		buf_printf(out, "cgroup %llu", (unsigned long long)q->cgroup_id);
	buf_add_str(out, " (");
	put_ms(out, q->quota_ns);
	buf_add_str(out, " of CPU time per ");
	put_ms(out, q->period_ns);
	buf_add_char(out, ')');
}

/* "redis[812] off for 2.031 ms (0.004 ms waiting for a CPU) sleeping, futex, woken by redis[812] in do_futex+0x3" */
static int block_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct cpu_block *block = ev->body;
	const struct cpu_body *b = &block->body;
	const char *state = xlat_name(&state_xlat, b->state), *kind;
	const struct cpu_verdict v = cpu_wait_judge(ev);

	put_who(ev, out);
	buf_add_str(out, " off for ");
	put_ms(out, b->value);
	if (b->wait_ns) {
		buf_add_str(out, " (");
		put_ms(out, b->wait_ns);
		buf_add_str(out, " waiting for a CPU)");
	}
	buf_printf(out, " %s", b->mode & CPU_MODE_PREEMPTED ? "preempted" : state ? state : "?");
	kind = xlat_name(&cpu_wait_kind_xlat, v.kind);
	if (kind && v.kind != CPU_WAIT_CPU && v.kind != CPU_WAIT_UNKNOWN && v.kind != CPU_WAIT_OTHER)
		buf_printf(out, ", %s", kind);
	put_waker(&block->wait, out);
	put_quota(ev, out);
	return put_rest(ev, o, out);
}

/* "cpu: 12 of 3000 periods without a sample; unwind tables: 41 files, 812345 rows, 7168 KB, 0 evicted, 1 refused" */
static int totals_line(const struct event *ev, _unused_ const struct line_opts *o, struct buf *out)
{
	const struct cpu_totals *b = ev->body;

	buf_add_str(out, "cpu: ");
	if (b->periods)
		buf_printf(out, "%llu of %llu periods without a sample; ", (unsigned long long)b->missed,
			   (unsigned long long)b->periods);
	buf_printf(out, "unwind tables: %llu files, %llu rows, %llu KB, %llu evicted, %llu refused\n",
		   (unsigned long long)b->files, (unsigned long long)b->rows, (unsigned long long)(b->bytes >> 10),
		   (unsigned long long)b->evicted, (unsigned long long)b->refused);
	return buf_error(out);
}

/* ---- rows ---- */

#define COMMON_ROWS \
	ROW(comm, "thread.name", FIELD_STR, "name of the thread", .flags = FIELD_OPEN), \
	ROW(count, "stack.count", FIELD_UINT, "how many samples or blocks it stands for"), \
	ROW(user_end, "stack.end", FIELD_ENUM, "why the user stack ends where it ends", .xlat = &end_xlat, \
	    .flags = FIELD_OPTIONAL), \
	ROW(kern_err, "stack.error", FIELD_INT, "negative errno of the failed kernel stack walk", \
	    .flags = FIELD_OPTIONAL), \
	ROW(mode, "stack.mode", FIELD_FLAGS, "kernel, idle, preempted; which stacks were requested", \
	    .xlat = &mode_xlat, .flags = FIELD_OPTIONAL)

static const struct field sample_fields[] = {
	ROW(value, "stack.value", FIELD_NS, "ns of CPU time (with the word events in stack.mode: events)"),
	COMMON_ROWS,
};

/* FIELD_GET rows of blocks: `off` says which. */
enum { GET_KIND, GET_KIND_BY, GET_RUNQ, GET_SLEEP, GET_IRQ, GET_QUOTA_CGROUP };

static int get_enum(const struct xlat *x, unsigned n, struct value *ret)
{
	return value_set_named(ret, n, xlat_name(x, n));
}

static int get_ns(const struct cpu_block *b, uint64_t ns, struct value *ret)
{
	return b->wait.flags & CPU_WAIT_F_NOT_WOKEN ? -ENOENT : value_set_ns(ret, ns);
}

static int block_get(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct cpu_block *b = ev->body;

	switch (f->off) {
	case GET_KIND: return get_enum(&cpu_wait_kind_xlat, cpu_wait_judge(ev).kind, ret);
	case GET_KIND_BY: return get_enum(&cpu_wait_by_xlat, cpu_wait_judge(ev).by, ret);
	case GET_RUNQ: return get_ns(b, b->body.wait_ns, ret);
	case GET_SLEEP: return get_ns(b, b->sleep_ns, ret);
	case GET_IRQ: return get_enum(&waker_xlat, b->wait.waker, ret);
	case GET_QUOTA_CGROUP: return value_set_text(ret, quota_cgroup(ev));
	default: return -ENOENT;
	}
}

#define BLOCK_GET(word_, name_, like_, doc_, ...) \
	{ .name = (name_), .kind = FIELD_GET, .off = (word_), .like = FIELD_LIKE(like_), .doc = (doc_), \
	  ##__VA_ARGS__ }
#define WAIT_ROW(member, word, kind, doc, ...) \
	FIELD_ROW(struct cpu_block, wait.member, word, kind, doc, .flags = FIELD_OPTIONAL, ##__VA_ARGS__)

#define QUOTA_ROW(member, word, kind, doc) \
	FIELD_ROW(struct cpu_block, quota.member, word, kind, doc, .flags = FIELD_OPTIONAL)

static const struct field block_fields[] = {
	ROW(value, "stack.value", FIELD_NS, "ns off the CPU"),
	ROW(wait_ns, "stack.wait", FIELD_NS, "of these, ns ready to run and waiting for a CPU"),
	ROW(state, "stack.state", FIELD_ENUM, "state in which it left the CPU", .xlat = &state_xlat),
	COMMON_ROWS,
	BLOCK_GET(GET_KIND, "block.kind", FIELD_ENUM, "what the thread waited for", .xlat = &cpu_wait_kind_xlat),
	BLOCK_GET(GET_KIND_BY, "block.kind_by", FIELD_ENUM, "what the kind is known from, or why it is unknown",
		  .xlat = &cpu_wait_by_xlat),
	BLOCK_GET(GET_SLEEP, "block.sleep_ns", FIELD_NS, "ns from leaving the CPU to the wake-up"),
	BLOCK_GET(GET_RUNQ, "block.runq_ns", FIELD_NS, "ns from the wake-up to running; absent, as sleep_ns, if no "
		  "wake-up was seen"),
	WAIT_ROW(waker_tgid, "block.waker.pid", FIELD_UINT, "process that woke the thread"),
	WAIT_ROW(waker_tid, "block.waker.tid", FIELD_UINT, "its thread"),
	WAIT_ROW(waker_start_ns, "block.waker.start_ns", FIELD_UINT, "start of that process, ns since boot"),
	WAIT_ROW(waker_image, "block.waker.image_id", FIELD_UINT, "number of the executable image of that process"),
	FIELD_ROW(struct cpu_block, wait.waker_comm, "block.waker.name", FIELD_STR, "name of that thread",
		  .flags = FIELD_OPTIONAL | FIELD_OPEN),
	WAIT_ROW(waker_goid, "block.waker.goid", FIELD_UINT, "goroutine of that thread"),
	BLOCK_GET(GET_IRQ, "block.waker.irq", FIELD_ENUM, "interrupt that woke the thread; no thread is named then",
		  .xlat = &waker_xlat),
	BLOCK_GET(GET_QUOTA_CGROUP, "block.quota.cgroup", FIELD_STR,
		  "cgroup whose quota of CPU time was used up: path below its mount", .flags = FIELD_OPEN),
	QUOTA_ROW(quota_ns, "block.quota.time", FIELD_NS, "ns of CPU time that it has in each period"),
	QUOTA_ROW(period_ns, "block.quota.period", FIELD_NS, "length of the period, ns"),
	QUOTA_ROW(n_periods, "block.quota.periods", FIELD_UINT, "periods that passed (nr_periods of its cpu.stat)"),
	QUOTA_ROW(n_throttled, "block.quota.throttled", FIELD_UINT, "of these, with the quota used up"),
	QUOTA_ROW(throttled_ns, "block.quota.throttled_ns", FIELD_NS, "ns that its queues were throttled, over all "
		  "CPUs, before this wait"),
};

#define TOTAL(member, word, doc) FIELD_ROW(struct cpu_totals, member, word, FIELD_UINT, doc)

static const struct field totals_fields[] = {
	TOTAL(periods, "totals.periods", "periods of the sampling clock, all CPUs; 0 = another event, or no samples"),
	TOTAL(missed, "totals.missed", "of these, neither sampled nor idle: throttled, or the machine did not run"),
	TOTAL(files, "totals.files", "files with an unwind table at the end"),
	TOTAL(rows, "totals.rows", "rows of these tables"),
	TOTAL(bytes, "totals.bytes", "bytes of these tables"),
	TOTAL(pool_bytes, "totals.pool_bytes", "kernel memory taken for tables"),
	TOTAL(loaded, "totals.loaded", "tables loaded"),
	TOTAL(evicted, "totals.evicted", "tables that had to go for others"),
	TOTAL(refused, "totals.refused", "files that no table could be made of"),
	TOTAL(gone, "totals.gone", "requests for a table whose process was gone"),
	TOTAL(late, "totals.late", "compilations that took too long, and are tried again"),
	TOTAL(walked_late, "totals.walked_late", "stacks walked in user space, because their table came after them"),
	TOTAL(stayed_cut, "totals.stayed_cut", "stacks that end early, because a table came too late or never"),
	{ .name = "totals.reasons", .kind = FIELD_GET, .like = FIELD_LIKE(FIELD_STR),
	  .doc = "why files were refused, the first few", .flags = FIELD_OPEN },
};

/* The text, which only the last row has. */
static int totals_get(const struct event *ev, _unused_ const struct field *f, struct value *ret)
{
	const struct section *s = event_section(ev, SEC_TEXT);

	return s ? value_set_chars(ret, s->data, s->len) : -ENOENT;
}

#define STACKS (1u << SEC_STACK_KERN | 1u << SEC_STACK_USER)

const struct event_desc cpu_sample_desc = {
	.type = CPU_REC_SAMPLE, .name = "cpu.sample", .doc = "what a CPU ran at the moment of a sample",
	.class = EVENT_DATA, .fields = sample_fields, .n_fields = ARRAY_SIZE(sample_fields),
	.body_size = sizeof(struct cpu_body), .sections = STACKS, .line = sample_line,
};

const struct event_desc cpu_block_desc = {
	.type = CPU_REC_BLOCK, .name = "cpu.block", .doc = "how long a thread was off the CPUs, and where it left",
	.class = EVENT_DATA, .fields = block_fields, .n_fields = ARRAY_SIZE(block_fields),
	.body_size = sizeof(struct cpu_block), .sections = STACKS, .get = block_get, .line = block_line,
};

const struct event_desc cpu_totals_desc = {
	.type = CPU_REC_TOTALS, .name = "cpu.totals", .class = EVENT_META,
	.doc = "at the end: samples that were missed, and what the unwind tables took",
	.fields = totals_fields, .n_fields = ARRAY_SIZE(totals_fields), .body_size = sizeof(struct cpu_totals),
	.sections = 1u << SEC_TEXT, .get = totals_get, .line = totals_line,
};
