/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State events of a probe that the symbolizer has never seen, also with the mappings of a live process.
 */
#ifndef TESTS_SYM_FEED_H
#define TESTS_SYM_FEED_H

#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "event/event.h"
#include "sonde/wire.h"
#include "sym/sym.h"

struct feed_map {
	uint64_t addr, len, off, ino;
	uint32_t dev;
	uint8_t id_len, id[20];
	char path[256];
};

static const struct event_desc feed_state_desc = { .type = 0x7001, .name = "t.state", .class = EVENT_STATE };
static const struct event_desc feed_sample_desc = { .type = 0x7004, .name = "t.sample", .class = EVENT_DATA };

static inline struct event feed_event(const struct event_desc *d, uint64_t ts_ns, uint32_t pid, const void *body)
{
	return (struct event){
		.desc = d, .ts_ns = ts_ns, .tgid = pid, .tid = pid, .start_ns = 1, .body = body,
		.body_len = d->body_size,
	};
}

static inline void feed_state(struct sym *s, uint64_t ts_ns, uint32_t pid, const void *state, size_t len)
{
	struct event ev = feed_event(&feed_state_desc, ts_ns, pid, NULL);

	event_add_section(&ev, SEC_STATE, state, (uint32_t)len);
	assert_int_equal(sym_event(s, &ev), 0);
}

static inline void feed_mapping(struct sym *s, uint64_t ts_ns, uint32_t pid, const struct feed_map *m)
{
	struct { struct sec_mapping map; char path[256]; } state = {
		.map = {
			.head = { .kind = SEC_STATE_MAPPING, .text = sizeof(struct sec_mapping) },
			.addr = m->addr, .len = m->len, .file_off = m->off, .ino = m->ino, .dev = m->dev,
			.path.len = (uint32_t)strlen(m->path), .build_id_len = m->id_len,
		},
	};

	memcpy(state.map.build_id, m->id, sizeof(m->id));
	memcpy(state.path, m->path, sizeof(m->path));
	feed_state(s, ts_ns, pid, &state, sizeof(state));
}

/* All executable mappings in /proc/PID/maps. */
static inline void feed_process(struct sym *s, uint64_t ts_ns, uint32_t pid)
{
	char path[64], line[512], perms[8];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		struct feed_map m = { 0 };
		unsigned long long start, end, off, ino;
		unsigned major_no, minor_no;

		if (sscanf(line, "%llx-%llx %7s %llx %x:%x %llu %255[^\n]", &start, &end, perms, &off, &major_no,
			   &minor_no, &ino, m.path) < 7 || perms[2] != 'x')
			continue;
		m.addr = start;
		m.len = end - start;
		m.off = off;
		m.ino = ino;
		m.dev = major_no << 20 | minor_no;
		if (!m.path[0])
			strcpy(m.path, "//anon");
		feed_mapping(s, ts_ns, pid, &m);
	}
	fclose(f);
}

static inline void feed_exec(struct sym *s, uint64_t ts_ns, uint32_t pid, uint64_t image_ns)
{
	const struct sec_task t = {
		.head.kind = SEC_STATE_EXEC, .image_ns = image_ns, .vpid = pid, .uid = getuid(),
	};

	feed_state(s, ts_ns, pid, &t, sizeof(t));
}

static inline void feed_exit(struct sym *s, uint64_t ts_ns, uint32_t pid)
{
	const struct sec_state last = { .kind = SEC_STATE_EXIT, .flag = 1 };

	feed_state(s, ts_ns, pid, &last, sizeof(last));
}

/* Locations of a stack of @n addresses. */
static inline size_t feed_locate(struct sym *s, uint64_t ts_ns, uint32_t pid, const uint64_t *pc, size_t n,
				 struct sym_loc *ret)
{
	struct event ev = feed_event(&feed_sample_desc, ts_ns, pid, NULL);

	event_add_section(&ev, SEC_STACK_USER, pc, (uint32_t)(n * sizeof(*pc)));
	return sym_locate_user(s, &ev, ret, n);
}

/* Current name of one address. */
static inline const struct sym_func *feed_name(struct sym *s, const struct sym_loc *loc, bool caller)
{
	const struct sym_query q = { .loc = *loc, .caller = caller };
	struct sym_frame f;

	assert_int_equal(sym_frames(s, &q, 1, &f), 0);
	assert_true(f.n >= 1);
	return &f.funcs[f.n - 1];
}

#endif
