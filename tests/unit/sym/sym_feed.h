/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State events as from a probe, with the fields that the symbolizer knows and bodies that it has never seen; and the
 * mappings of a live process, reported by them.
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

static inline int feed_get(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct feed_map *b = ev->body;

	if (!strcmp(f->name, "map.path"))
		*ret = (struct value){ .kind = VAL_STR, .str = b->path, .len = strlen(b->path) };
	else if (b->id_len)
		*ret = (struct value){ .kind = VAL_BYTES, .str = (const char *)b->id, .len = b->id_len };
	else
		return -ENOENT;
	return 0;
}

static const struct field feed_map_fields[] = {
	FIELD_ROW(struct feed_map, addr, "map.addr", FIELD_HEX, "a"),
	FIELD_ROW(struct feed_map, len, "map.len", FIELD_UINT, "l"),
	FIELD_ROW(struct feed_map, off, "map.offset", FIELD_UINT, "o"),
	FIELD_ROW(struct feed_map, ino, "map.ino", FIELD_UINT, "i", .flags = FIELD_OPTIONAL),
	FIELD_ROW(struct feed_map, dev, "map.dev", FIELD_HEX, "d", .flags = FIELD_OPTIONAL),
	{ .name = "map.path", .kind = FIELD_GET, .doc = "p" },
	{ .name = "map.build_id", .kind = FIELD_GET, .doc = "b" },
};
static const struct event_desc feed_map_desc = {
	.type = 0x7001, .name = "t.map", .class = EVENT_STATE, .fields = feed_map_fields, .n_fields = 7,
	.body_size = sizeof(struct feed_map), .get = feed_get,
};

struct feed_task { uint64_t image_ns, maker_start; uint32_t maker, ns_pid, uid; uint8_t last; };
static const struct field feed_exec_fields[] = {
	FIELD_ROW(struct feed_task, image_ns, "task.image_ns", FIELD_NS, "i", .flags = FIELD_OPTIONAL),
	FIELD_ROW(struct feed_task, ns_pid, "task.ns_pid", FIELD_UINT, "n", .flags = FIELD_OPTIONAL),
	FIELD_ROW(struct feed_task, uid, "task.uid", FIELD_UINT, "u"),
};
static const struct event_desc feed_exec_desc = {
	.type = 0x7002, .name = "t.exec", .class = EVENT_STATE, .fields = feed_exec_fields, .n_fields = 3,
	.body_size = sizeof(struct feed_task),
};
static const struct field feed_exit_fields[] = {
	FIELD_ROW(struct feed_task, last, "exit.last", FIELD_BOOL, "l"),
};
static const struct event_desc feed_exit_desc = {
	.type = 0x7003, .name = "t.exit", .class = EVENT_STATE, .fields = feed_exit_fields, .n_fields = 1,
	.body_size = sizeof(struct feed_task),
};
static const struct event_desc feed_sample_desc = { .type = 0x7004, .name = "t.sample", .class = EVENT_DATA };

static inline struct event feed_event(const struct event_desc *d, uint64_t ts_ns, uint32_t pid, const void *body)
{
	return (struct event){
		.desc = d, .ts_ns = ts_ns, .tgid = pid, .tid = pid, .start_ns = 1, .body = body,
		.body_len = d->body_size,
	};
}

static inline void feed_mapping(struct sym *s, uint64_t ts_ns, uint32_t pid, const struct feed_map *m)
{
	struct event ev = feed_event(&feed_map_desc, ts_ns, pid, m);

	assert_int_equal(sym_event(s, &ev), 0);
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
	const struct feed_task b = { .image_ns = image_ns, .ns_pid = pid, .uid = getuid() };
	struct event ev = feed_event(&feed_exec_desc, ts_ns, pid, &b);

	assert_int_equal(sym_event(s, &ev), 0);
}

static inline void feed_exit(struct sym *s, uint64_t ts_ns, uint32_t pid)
{
	const struct feed_task b = { .last = 1 };
	struct event ev = feed_event(&feed_exit_desc, ts_ns, pid, &b);

	assert_int_equal(sym_event(s, &ev), 0);
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
