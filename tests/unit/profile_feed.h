/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples made by hand and a symbolizer of the test's own (the real one is not linked: these functions come first):
 *
 *   0x555500000000 + 0x1000 * n    function fN of /opt/my app/server (module 1), 0x100 bytes each
 *   0x7f0000000000 + 0x1000 * n    function libN of /usr/lib/libfoo.so.1 (module 2), 0x100 bytes each
 *   0xffffffff81000000 + 0x1000 * n    kernel function kN (module 3); from k8 on of the module [ext4] (module 4)
 *
 * Anything else is unknown. A few functions have names that output formats find hard.
 */
#ifndef TESTS_PROFILE_FEED_H
#define TESTS_PROFILE_FEED_H

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/macros.h"
#include "event/event.h"
#include "sonde/stack_wire.h"
#include "sonde/wire.h"
#include "sym/sym.h"

#define APP 0x555500000000ULL
#define LIB 0x7f0000000000ULL
#define KERN 0xffffffff81000000ULL
#define FN(base, n, off) ((base) + (n) * 0x1000ULL + (off))

struct sym {
	uint64_t generation, located, asked, batches;
	struct arena names;
};

static const struct sym_module feed_modules[] = {
	{ .kind = SYM_UNKNOWN, .path = "", .build_id = "" },
	{ .kind = SYM_FILE, .path = "/opt/my app/server", .build_id = "0123456789abcdef", .start = APP,
	  .limit = APP + 0x100000 },
	{ .kind = SYM_FILE, .path = "/usr/lib/libfoo.so.1", .build_id = "", .start = LIB, .limit = LIB + 0x100000 },
	{ .kind = SYM_KERNEL, .path = "[kernel.kallsyms]", .build_id = "" },
	{ .kind = SYM_KERNEL, .path = "[ext4]", .build_id = "" },
};

static struct sym_loc feed_locate(struct sym *s, uint64_t ip, bool kernel)
{
	s->located++;
	if (kernel && ip >= KERN)
		return (struct sym_loc){ .module = ip >= FN(KERN, 8, 0) ? 4 : 3, .addr = ip };
	if (!kernel && ip >= LIB && ip < LIB + 0x100000)
		return (struct sym_loc){ .module = 2, .addr = ip - LIB };
	if (!kernel && ip >= APP && ip < APP + 0x100000)
		return (struct sym_loc){ .module = 1, .addr = ip - APP };
	return (struct sym_loc){ .addr = ip };
}

static size_t feed_stack(struct sym *s, const struct event *ev, enum sec_kind kind, struct sym_loc *ret, size_t cap)
{
	const struct section *sec = event_section(ev, kind);
	const uint64_t *ips = sec ? sec->data : NULL;
	size_t n = sec ? MIN(sec->len / 8, cap) : 0;

	for (size_t i = 0; i < n; i++)
		ret[i] = feed_locate(s, ips[i], kind == SEC_STACK_KERN);
	return n;
}

size_t sym_locate_user(struct sym *s, const struct event *ev, struct sym_loc *ret, size_t cap)
{
	return feed_stack(s, ev, SEC_STACK_USER, ret, cap);
}

size_t sym_locate_kernel(struct sym *s, const struct event *ev, struct sym_loc *ret, size_t cap)
{
	return feed_stack(s, ev, SEC_STACK_KERN, ret, cap);
}

uint64_t sym_generation(struct sym *s, const struct event *ev)
{
	(void)ev;
	return s->generation;
}

const struct sym_module *sym_module(const struct sym *s, uint32_t module)
{
	(void)s;
	return &feed_modules[module];
}

uint32_t sym_n_modules(const struct sym *s)
{
	(void)s;
	return ARRAY_SIZE(feed_modules);
}

/* Names that contain the separators of one format or another. */
static const char *feed_name(uint32_t module, uint64_t n, char *buf, size_t cap)
{
	if (module == 1 && n == 7)
		return "operator<(std::pair<int, char>; \"x\" & y)";
	if (module == 1 && n == 8)
		return "runtime.asyncPreempt.abi0";
	if (module == 1 && n == 9)
		return "__restore_rt";
	snprintf(buf, cap, "%s%u", module == 1 ? "f" : module == 2 ? "lib" : "k", (unsigned)n);
	return buf;
}

static struct sym_frame feed_frame(struct sym *s, const struct sym_query *q)
{
	const bool trampoline = q->loc.module == 1 && q->loc.addr == 0x9000;	/* found as itself, as sym does */
	uint64_t addr = q->loc.addr - (q->caller && !trampoline), base = q->loc.module > 2 ? KERN : 0;
	uint64_t n = (addr - base) / 0x1000;
	struct sym_func *f = arena_alloc(&s->names, 2 * sizeof(*f));
	char buf[64];
	const char *name = "";

	if (q->loc.module && (addr - base) % 0x1000 < 0x100)
		name = feed_name(q->loc.module, n, buf, sizeof(buf));
	f[1] = (struct sym_func){ .name = "", .raw = "", .file = "" };
	if (*name)
		f[1] = (struct sym_func){
			.name = arena_copy(&s->names, name, strlen(name)), .file = n == 5 ? "/src/five.c" : "",
			.raw = arena_copy(&s->names, name, strlen(name)), .start = base + n * 0x1000,
			.line = n == 5 ? 55 : 0, .off = addr - base - n * 0x1000,
		};
	if (q->loc.module != 1 || n != 5)
		return (struct sym_frame){ .funcs = f + 1, .n = 1 };
	f[0] = (struct sym_func){ .name = "tiny", .raw = "tiny", .file = "/src/tiny.h", .line = 3 };
	return (struct sym_frame){ .funcs = f, .n = 2 };
}

int sym_frames(struct sym *s, const struct sym_query *q, size_t n, struct sym_frame *ret)
{
	for (size_t i = 0; i < n; i++)
		ret[i] = feed_frame(s, &q[i]);
	s->asked += n;
	s->batches++;
	return 0;
}

/* ---- events ---- */

struct feed_body {
	uint64_t value, wait;
	uint32_t count;
	int32_t error;
	uint8_t end, pad[7];
	char comm[16];
};

static const struct xlat feed_no_names = { .name = "none" };
static const struct field feed_fields[] = {
	FIELD_ROW(struct feed_body, value, "stack.value", FIELD_NS, "v"),
	FIELD_ROW(struct feed_body, wait, "stack.wait", FIELD_NS, "w"),
	FIELD_ROW(struct feed_body, count, "stack.count", FIELD_UINT, "c"),
	FIELD_ROW(struct feed_body, error, "stack.error", FIELD_INT, "e", .flags = FIELD_OPTIONAL),
	FIELD_ROW(struct feed_body, end, "stack.end", FIELD_ENUM, "e", .xlat = &feed_no_names,
		  .flags = FIELD_OPTIONAL),
	FIELD_ROW(struct feed_body, comm, "thread.name", FIELD_STR, "n"),
};
static const struct event_desc feed_sample_desc = {
	.type = SONDE_EV(0x71, 1), .name = "t.sample", .fields = feed_fields, .n_fields = ARRAY_SIZE(feed_fields),
	.body_size = sizeof(struct feed_body),
};
static const struct event_desc feed_block_desc = {
	.type = SONDE_EV(0x71, 2), .name = "t.block", .fields = feed_fields, .n_fields = ARRAY_SIZE(feed_fields),
	.body_size = sizeof(struct feed_body),
};

#define MAX_FEED 8
struct feed {
	const char *comm;
	uint32_t tgid, tid;
	unsigned times;
	uint64_t value, wait;
	int error;
	unsigned end;
	bool no_user, no_kern, block;
	uint64_t user[MAX_FEED], kern[MAX_FEED];	/* innermost first, up to a 0 */
};

static uint32_t feed_len(const uint64_t *ips)
{
	uint32_t n = 0;

	while (n < MAX_FEED && ips[n])
		n++;
	return n;
}

/* Calls @fn for each sample, one every 10 ms from second 100 on, CPUs in turn. */
static void feed_all(const struct feed *f, size_t n, void (*fn)(void *ctx, const struct event *ev), void *ctx)
{
	uint64_t ts_ns = 100000000000ULL;
	uint16_t cpu = 0;

	for (size_t i = 0; i < n; i++) {
		struct feed_body body = {
			.value = f[i].value ? f[i].value : 10000000, .wait = f[i].wait, .count = 1,
			.error = f[i].error, .end = (uint8_t)f[i].end,
		};
		struct event ev = {
			.desc = f[i].block ? &feed_block_desc : &feed_sample_desc, .tgid = f[i].tgid,
			.tid = f[i].tid ? f[i].tid : f[i].tgid, .start_ns = 5, .body = &body,
			.body_len = sizeof(body),
		};

		memcpy(body.comm, f[i].comm, strnlen(f[i].comm, sizeof(body.comm)));
		if (!f[i].no_user)
			event_add_section(&ev, SEC_STACK_USER, f[i].user, feed_len(f[i].user) * 8);
		if (!f[i].no_kern)
			event_add_section(&ev, SEC_STACK_KERN, f[i].kern, feed_len(f[i].kern) * 8);
		for (unsigned t = 0; t < f[i].times; t++, ts_ns += 10000000, cpu = !cpu) {
			ev.ts_ns = ts_ns;
			ev.cpu = cpu;
			fn(ctx, &ev);
		}
	}
}

/*
 * The stacks whose texts are in tests/golden/profile: a system call, a plain stack, a truncated one, a lost user
 * stack, a kernel thread, hard names, unknown addresses, inlined code, and a call that is its function's last
 * instruction.
 */
static const struct feed feed_profile[] = {
	{ .comm = "server", .tgid = 100, .times = 3, .end = SONDE_STACK_BOTTOM,
	  .user = { FN(LIB, 1, 0x17), FN(APP, 2, 0x40), FN(APP, 1, 0x24) },
	  .kern = { FN(KERN, 9, 0x5), FN(KERN, 2, 0x71), FN(KERN, 1, 0x76) } },
	{ .comm = "server", .tgid = 100, .times = 1, .end = SONDE_STACK_BOTTOM,
	  .user = { FN(APP, 3, 0x1), FN(APP, 2, 0x100), FN(APP, 1, 0x24) } },
	{ .comm = "server", .tgid = 101, .times = 2, .end = SONDE_STACK_NO_RULE,
	  .user = { FN(APP, 3, 0x2), FN(LIB, 4, 0x33) } },
	{ .comm = "server", .tgid = 101, .times = 5, .end = SONDE_STACK_MEMORY, .kern = { FN(KERN, 2, 0x9) } },
	{ .comm = "kworker/0:1", .tgid = 7, .times = 4, .kern = { FN(KERN, 3, 0x10), FN(KERN, 4, 0x20) } },
	{ .comm = "a;b c", .tgid = 102, .times = 6, .end = SONDE_STACK_BOTTOM,
	  .user = { FN(APP, 7, 0x8), FN(APP, 1, 0x24) } },
	{ .comm = "server", .tgid = 103, .times = 7, .end = SONDE_STACK_NO_MAPPING,
	  .user = { FN(LIB, 5, 0x500), 0x1234, FN(APP, 1, 0x24) } },
	{ .comm = "server", .tgid = 100, .times = 8, .end = SONDE_STACK_BOTTOM, .error = -12,
	  .user = { FN(APP, 5, 0x30), FN(APP, 1, 0x24) } },
	/* The second stack's function in another process: one line in folded text, two in bcc's. */
	{ .comm = "server", .tgid = 104, .times = 9, .end = SONDE_STACK_BOTTOM,
	  .user = { FN(APP, 3, 0x1), FN(APP, 2, 0x100), FN(APP, 1, 0x24) } },
};

#endif
