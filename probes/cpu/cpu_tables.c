// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A file is compiled once for all processes that map it. Its key is its identity in the kernel: device, inode
 * number, generation, time of the last change. A file that cannot be opened because the process ended is forgotten,
 * so the next process with that file requests it again; a file that cannot be compiled gets an empty table, so no
 * process does.
 */
#include "probes/cpu/cpu_tables.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "elf/dwarf/ehframe.h"
#include "elf/dwarf/ehframe_table.h"
#include "elf/elf.h"
#include "elf/mapped_file.h"
#include "loop/coop.h"
#include "probe/env.h"
#include "probes/cpu/cpu_top_tasks.h"
#include "probes/cpu/cpu_load.h"
#include "probes/cpu/cpu_pool.h"
#include "probes/cpu/cpu_unwind_wire.h"
#include "probes/cpu/cpu_wire.h"

#define SHARE_OF_SCARCE 8	/* share of scarce memory for tables */
#define FILES_MAX 65536u
#define GONE_AGAIN_NS 100000000ull	/* retry a file whose process had ended */
#define SIBLINGS_MAX 64
#define AHEAD_NS 20000000ull	/* CPU time to find the busy processes: enough for some thousand */
#define PAUSE_NS 200000		/* between two looks whether the first segment is in place */
#define LATE_AGAIN_NS 30000000000ull	/* retry after a timeout */

struct table {
	uint32_t first, n_units;	/* of the pool */
	uint32_t n_rows, bytes;
};

struct cpu_tables {
	uint16_t instance;
	struct probe_env *env;		/* borrowed */
	uint64_t budget_bytes;
	bool has_loop;
	uint32_t last_id;		/* of the newest table */
	struct cpu_pool *pool;		/* NULL until the maps are there */
	int files_fd, asked_fd, gone_fd, proc_fd;
	uint32_t max_files;
	struct map tables;		/* struct cpu_file_key -> struct table */
	struct cpu_loader *loader;
	struct cpu_tables_stats stats;
	void (*complain)(void *ctx, const struct err *err);
	void *ctx;
	void (*loaded)(void *ctx);	/* may be NULL */
	void *loaded_ctx;
};

static uint32_t max_files(uint64_t budget_bytes)
{
	uint64_t n = budget_bytes / sizeof(struct cpu_unwind_unit);

	return (uint32_t)MIN(MAX(n, 256ull), (uint64_t)FILES_MAX);
}

uint64_t cpu_tables_budget(const struct probe_env *env, uint64_t budget_bytes)
{
	const uint64_t scarce_bytes = probe_env_scarce_bytes(env);

	return scarce_bytes ? MIN(budget_bytes, scarce_bytes / SHARE_OF_SCARCE) : budget_bytes;
}

void cpu_tables_configure(struct bpf_object *obj, uint64_t budget_bytes)
{
	struct bpf_map *pool = bpf_object__find_map_by_name(obj, "cpu_unwind_pool");
	struct bpf_map *files = bpf_object__find_map_by_name(obj, "cpu_unwind_files");

	if (pool)
		bpf_map__set_max_entries(pool, cpu_pool_segments(budget_bytes));
	if (files)
		bpf_map__set_max_entries(files, max_files(budget_bytes));
}

/* ---- room ---- */

/* Finds the least recently used file. False: there is none. */
static bool find_oldest(const struct cpu_tables *t, struct cpu_file_key *ret)
{
	uint64_t oldest = UINT64_MAX;
	void *key, *val;
	size_t pos = 0;

	while (map_next(&t->tables, &pos, &key, &val)) {
		const struct cpu_file_key *k = key;
		struct cpu_unwind_file f = { 0 };

		if (!k->dev || bpf_map_lookup_elem(t->files_fd, k, &f) < 0 || f.used_ns >= oldest)
			continue;
		oldest = f.used_ns;
		*ret = *k;
	}
	return oldest != UINT64_MAX;
}

/* -ENOSPC when nothing is left to evict. */
static int evict_one(struct cpu_tables *t)
{
	const uint32_t zero = 0, gone = (uint32_t)t->stats.evicted + 1;
	struct cpu_file_key key;
	struct table *table;

	if (!find_oldest(t, &key))
		return -ENOSPC;
	bpf_map_update_elem(t->gone_fd, &zero, &gone, BPF_ANY);
	bpf_map_delete_elem(t->files_fd, &key);
	bpf_map_delete_elem(t->asked_fd, &key);
	table = map_find(&t->tables, &key);
	cpu_pool_retire(t->pool, table->first, table->n_units);
	t->stats.files--;
	t->stats.rows -= table->n_rows;
	t->stats.bytes -= table->bytes;
	t->stats.evicted++;
	map_remove(&t->tables, &key);
	return 0;
}

/* @spare: only units that are free. -EAGAIN: not before a grace period has passed; else like cpu_pool_take(). */
static int take_units(struct cpu_tables *t, uint32_t n, bool spare, uint32_t *ret_first)
{
	int r = 0;

	if (spare && t->tables.len >= t->max_files - 1)
		return -ENOSPC;
	if (spare)
		return cpu_pool_take(t->pool, n, ret_first);
	while (r == 0 && t->tables.len >= t->max_files - 1)
		r = evict_one(t);
	while (r == 0) {
		r = cpu_pool_take(t->pool, n, ret_first);
		if (r != -ENOSPC)
			break;
		r = evict_one(t);
	}
	if (r == -EAGAIN)
		cpu_pool_poll(t->pool); /* the grace period begins */
	return r;
}

/* ---- putting a table into the kernel ---- */

static int publish(struct cpu_tables *t, const struct cpu_file_key *key, const struct sonde_unwind_head *h,
		   const struct table *table)
{
	const struct cpu_unwind_file f = {
		.used_ns = clock_boot_ns(), .first_page = h->first_page, .first_word = table->first * CPU_UNIT_WORDS,
		.n_rules = h->n_rules, .n_pages = h->n_pages, .n_rows = h->n_rows, .id = ++t->last_id,
	};
	struct table *own = map_add(&t->tables, key, NULL);

	if (!own)
		return -ENOMEM;
	*own = *table;
	if (bpf_map_update_elem(t->files_fd, key, &f, BPF_ANY) < 0) {
		map_remove(&t->tables, key);
		return -errno;
	}
	t->stats.files++;
	t->stats.loaded++;
	t->stats.rows += table->n_rows;
	t->stats.bytes += table->bytes;
	return 0;
}

/*
 * @blob comes from ehframe_compile() in an untrusted process. -EAGAIN: the pool has no room yet, or programs cannot
 * read it yet; the caller calls again.
 */
static int put_table(struct cpu_tables *t, const struct cpu_file_key *key, const void *blob, size_t len, bool spare)
{
	struct sonde_unwind_head h;
	struct table table = { 0 };
	int r = ehframe_table_check(blob, len, &h);

	if (r < 0)
		return r;
	cpu_pool_poll(t->pool);
	if (h.n_rows) {
		table.n_units = (uint32_t)(ROUND_UP(len - sizeof(h), sizeof(struct cpu_unwind_unit)) /
					   sizeof(struct cpu_unwind_unit));
		table.bytes = table.n_units * (uint32_t)sizeof(struct cpu_unwind_unit);
		table.n_rows = h.n_rows;
	}
	r = take_units(t, table.n_units, spare, &table.first);
	if (r < 0)
		return r;
	r = cpu_pool_ready(t->pool, table.first, table.n_units);
	if (r == 0 && table.n_units)
		r = cpu_pool_write(t->pool, table.first, (const char *)blob + sizeof(h), len - sizeof(h));
	if (r == 0)
		r = publish(t, key, &h, &table);
	if (r < 0)
		cpu_pool_give(t->pool, table.first, table.n_units);
	return r;
}

static int put_empty(struct cpu_tables *t, const struct cpu_file_key *key)
{
	_cleanup_(buf_fini) struct buf blob = { 0 };
	int r = ehframe_table_empty(&blob);

	return r < 0 ? r : put_table(t, key, blob.data, blob.len, false);
}

/* ---- requests ---- */

static bool is_gone(int r)
{
	return r == -ENOENT || r == -ESRCH || r == -ESTALE;
}

static void ask_again(struct cpu_tables *t, const struct cpu_file_key *key, uint64_t after_ns)
{
	uint64_t due = clock_boot_ns() + after_ns;

	bpf_map_update_elem(t->asked_fd, key, &due, BPF_ANY);
}

/* The path of @fd, escaped; without one the file's number. */
static void name_file(const struct cpu_file_key *key, int fd, char *ret, size_t size)
{
	char link[32], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	if (fd >= 0 && n > 0)
		str_escape(ret, size, path, (size_t)n);
	else
		snprintf(ret, size, "inode %llu on device %u:%u", (unsigned long long)key->ino, key->dev >> 20,
			 key->dev & 0xfffff);
}

/* Gives the file an empty table: it is walked by frame pointers. @fd: the file, -1 if it could not be opened. */
static void refuse(struct cpu_tables *t, const struct cpu_file_key *key, int fd, struct err *err)
{
	char name[256];

	t->stats.refused++;
	if (put_empty(t, key) < 0)
		ask_again(t, key, LATE_AGAIN_NS);
	name_file(key, fd, name, sizeof(name));
	err_prefix(err, "%s is walked by frame pointers", name);
	if (t->complain)
		t->complain(t->ctx, err);
}

/* A slow worker may have been preempted: retry later. */
static int take_compiled(struct cpu_tables *t, const struct cpu_load *l)
{
	struct err err = *l->err;
	uint64_t took = clock_boot_ns() - l->asked_ns;
	int r = l->result;

	if (r == -ETIMEDOUT) {
		t->stats.late++;
		ask_again(t, &l->key, LATE_AGAIN_NS);
		return 0;
	}
	if (r >= 0) {
		r = put_table(t, &l->key, l->blob, l->len, l->guessed);
		if (r == -EAGAIN)
			return r;
		if (r < 0)
			err_errno(&err, r, "no unwind table");
	}
	if (r < 0) {
		if (!l->guessed) /* else a walk will request it */
			refuse(t, &l->key, l->fd, &err);
		return 0;
	}
	t->stats.load_ns += took;
	t->stats.load_max_ns = MAX(t->stats.load_max_ns, took);
	return 0;
}

static int on_compiled(void *ctx, const struct cpu_load *l)
{
	struct cpu_tables *t = ctx;
	int r = take_compiled(t, l);

	if (r == 0 && t->loaded)
		t->loaded(t->loaded_ctx);
	return r;
}

/* ---- the other files of a process ---- */

/* Only some file systems report the generation, a part of the key: files of others are requested one by one. */
static void load_sibling(struct cpu_tables *t, uint32_t tgid, struct cpu_place *place, bool guessed)
{
	_cleanup_close_ int fd = cpu_proc_maps_open(t->proc_fd, tgid, place);

	if (fd >= 0 && place->exact && !map_find(&t->tables, &place->key) && !cpu_load_has(t->loader, &place->key))
		cpu_load_add(t->loader, &place->key, TAKE_FD(fd), guessed);
}

/*
 * Loads the other executable files of a process with the first one: a walk stops at each file without a table, so a
 * process would need as many samples as its stacks have files.
 */
static void load_siblings(struct cpu_tables *t, uint32_t tgid, bool guessed)
{
	cpu_place_vec places = { 0 };

	cpu_proc_maps_read(t->proc_fd, tgid, SIBLINGS_MAX, &places);
	for (size_t i = 0; i < places.len && coop_yield(probe_env_coop(t->env)) == 0; i++)
		if (places.items[i].kind == CPU_PLACE_FILE)
			load_sibling(t, tgid, &places.items[i], guessed);
	vec_fini(&places);
}

static int need(struct cpu_tables *t, const struct cpu_need_rec *rec)
{
	const struct cpu_file_key key = {
		.ino = rec->ino, .mtime_ns = rec->mtime_ns, .dev = rec->dev, .generation = rec->ino_generation,
	};
	const struct mapped_file where = { .start = rec->start, .end = rec->end, .ino = rec->ino };
	struct err err = { 0 };
	int fd, r;

	if (!key.dev || map_find(&t->tables, &key) || cpu_load_has(t->loader, &key))
		return 0;
	fd = mapped_file_open(t->proc_fd, rec->hdr.tgid, &where);
	if (is_gone(fd)) {
		t->stats.gone++;
		ask_again(t, &key, GONE_AGAIN_NS);
		return fd;
	}
	r = fd < 0 ? err_errno(&err, fd, "cannot open what process %u has mapped", rec->hdr.tgid)
		   : cpu_load_add(t->loader, &key, fd, false);
	if (r == -ENOBUFS)
		ask_again(t, &key, GONE_AGAIN_NS);
	else if (fd < 0)
		refuse(t, &key, fd, &err);
	else
		load_siblings(t, rec->hdr.tgid, false);
	return r;
}

int cpu_tables_need(struct cpu_tables *t, const struct cpu_need_rec *rec)
{
	int r;

	cpu_load_hold(t->loader, true);
	r = need(t, rec);
	cpu_load_hold(t->loader, false);
	return r;
}

/* ---- ahead of the first walk ---- */

static bool wants_comm(const struct probe_select *s, const char *comm)
{
	return s->n_comms == 0 || FIND_ITEM(it, s->comms, s->n_comms, !strncmp(*it, comm, 15));
}

static void take_busy(void *ctx, uint32_t tgid, const char *comm)
{
	struct cpu_tables *t = ctx;

	if (tgid != (uint32_t)getpid() && wants_comm(probe_env_select(t->env, t->instance), comm))
		load_siblings(t, tgid, true);
}

/* A selected tree has no mappings yet. A thread id serves as process id. */
void cpu_tables_ahead(struct cpu_tables *t, const uint32_t *tids, size_t n_tids)
{
	const struct probe_select *s = probe_env_select(t->env, t->instance);

	if (!t->has_loop || s->n_tree || probe_env_scarce_bytes(t->env))	/* memory use peaks now */
		return;
	cpu_load_hold(t->loader, true);
	for (size_t i = 0; i < n_tids; i++)
		load_siblings(t, tids[i], true);
	for (size_t i = 0; !n_tids && i < s->n_pids; i++)
		load_siblings(t, s->pids[i], true);
	if (!n_tids && !s->n_pids)
		cpu_top_tasks_each(t->proc_fd, AHEAD_NS, probe_env_coop(t->env), take_busy, t);
	cpu_load_hold(t->loader, false);
}

/* Maps the file for a moment, so that it is one of this process's own. */
void cpu_tables_ahead_of(struct cpu_tables *t, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	if (t->has_loop && !probe_env_scarce_bytes(t->env)) {
		cpu_load_hold(t->loader, true);
		load_siblings(t, (uint32_t)getpid(), true);
		cpu_load_hold(t->loader, false);
	}
	if (at != MAP_FAILED)
		munmap(at, bytes);
}

void cpu_tables_poll(struct cpu_tables *t)
{
	cpu_load_poll(t->loader);
	if (t->pool)
		cpu_pool_poll(t->pool);
}

/* ---- the whole ---- */

/* A job sleeps while the loop goes on. 0 or -ECANCELED. */
static int pause_aside(struct cpu_tables *t)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	struct coop *coop = probe_env_coop(t->env);
	bool left = coop_leave(coop);

	nanosleep(&pause, NULL);
	return coop_return(coop, left);
}

DEFINE_CLEANUP(struct elf *, elf_free)

/* All processes share the vDSO. The kernel made it: trusted. */
static int load_vdso(struct cpu_tables *t)
{
	const struct cpu_file_key key = { .ino = CPU_FILE_VDSO };
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	_cleanup_(buf_fini) struct buf blob = { 0 };
	_cleanup_(elf_freep) struct elf *e = NULL;
	int r;

	if (!h)
		return -ENOENT;
	r = elf_open_mem(h, (size_t)(h->e_shoff + (uint64_t)h->e_shnum * h->e_shentsize), CPU_ELF_BYTES, &e);
	if (r == 0)
		r = ehframe_compile(e, CPU_TABLE_BYTES, &blob);
	while (r >= 0 && (r = put_table(t, &key, blob.data, blob.len, false)) == -EAGAIN)
		r = pause_aside(t);
	return r;
}

DEFINE_CLEANUP(struct cpu_tables *, cpu_tables_free)

int cpu_tables_new(const struct cpu_tables_opts *o, struct cpu_tables **ret, struct err *err)
{
	_cleanup_(cpu_tables_freep) struct cpu_tables *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return err_errno(err, -ENOMEM, "no unwind tables");
	map_init(&t->tables, sizeof(struct cpu_file_key), sizeof(struct table));
	t->env = o->env;
	t->instance = o->instance;
	t->has_loop = o->loop;
	t->budget_bytes = cpu_tables_budget(o->env, o->budget_bytes);
	t->max_files = max_files(t->budget_bytes);
	t->complain = o->complain;
	t->ctx = o->ctx;
	t->files_fd = t->asked_fd = t->gone_fd = -1;
	t->last_id = CPU_TABLE_NONE;
	t->proc_fd = open(o->proc_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t->proc_fd < 0)
		return err_errno(err, -errno, "no unwind tables: cannot open %s", o->proc_path);
	r = cpu_load_new(o->loop, o->env, o->nice, on_compiled, t, &t->loader);
	if (r < 0)
		return err_errno(err, r, "no unwind tables");
	*ret = TAKE_PTR(t);
	return 0;
}

int cpu_tables_begin(struct cpu_tables *t, struct bpf_object *obj, struct err *err)
{
	int r;

	t->files_fd = bpf_object__find_map_fd_by_name(obj, "cpu_unwind_files");
	t->asked_fd = bpf_object__find_map_fd_by_name(obj, "cpu_unwind_asked");
	t->gone_fd = bpf_object__find_map_fd_by_name(obj, "cpu_unwind_gone");
	coop_step(probe_env_coop(t->env), "make", "pool of unwind tables");
	r = -ENOENT;
	if (t->files_fd >= 0 && t->asked_fd >= 0 && t->gone_fd >= 0)
		r = cpu_pool_new(obj, t->budget_bytes, &t->pool);
	if (r < 0)
		return err_errno(err, r, "no unwind tables");
	coop_step(probe_env_coop(t->env), "load", "table of the vDSO");
	r = load_vdso(t);
	if (r < 0 && put_empty(t, &(struct cpu_file_key){ .ino = CPU_FILE_VDSO }) < 0)
		return err_errno(err, r, "no unwind tables");
	return 0;
}

void cpu_tables_free(struct cpu_tables *t)
{
	if (!t)
		return;
	cpu_load_free(t->loader);
	cpu_pool_free(t->pool);
	map_fini(&t->tables);
	cleanup_close(&t->proc_fd);
	free(t);
}

void cpu_tables_wait(struct cpu_tables *t, uint64_t limit_ns)
{
	cpu_load_wait(t->loader, limit_ns);
}

/* ---- walks in user space ---- */

void cpu_tables_watch(struct cpu_tables *t, void (*loaded)(void *ctx), void *ctx)
{
	t->loaded = loaded;
	t->loaded_ctx = ctx;
}

int cpu_tables_places(struct cpu_tables *t, uint32_t tgid, cpu_place_vec *ret)
{
	int r = cpu_proc_maps_read(t->proc_fd, tgid, SIBLINGS_MAX, ret);

	cpu_load_hold(t->loader, true);
	for (size_t i = 0; r == 0 && i < ret->len; i++)
		if (ret->items[i].kind == CPU_PLACE_FILE)
			load_sibling(t, tgid, &ret->items[i], false);
	cpu_load_hold(t->loader, false);
	return r;
}

/* Without a generation the rest of the key decides. */
static const struct cpu_file_key *known_key(const struct cpu_tables *t, const struct cpu_place *p)
{
	void *key, *val;
	size_t pos = 0;

	if (p->exact || p->kind == CPU_PLACE_VDSO)
		return map_find(&t->tables, &p->key) ? &p->key : NULL;
	while (map_next(&t->tables, &pos, &key, &val)) {
		const struct cpu_file_key *k = key;

		if (k->ino == p->key.ino && k->dev == p->key.dev && k->mtime_ns == p->key.mtime_ns)
			return k;
	}
	return NULL;
}

bool cpu_tables_find(const struct cpu_tables *t, const struct cpu_place *p, struct cpu_unwind_file *ret)
{
	const struct cpu_file_key *key = known_key(t, p);

	return key && bpf_map_lookup_elem(t->files_fd, key, ret) == 0;
}

static bool read_words(const struct cpu_tables *t, uint32_t first, uint32_t *ret, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (cpu_pool_word(t->pool, first + i, &ret[i]) < 0)
			return false;
	return true;
}

/* Searches like rule_search() of cpu_mapping.bpf.c. */
bool cpu_tables_rule(const struct cpu_tables *t, const struct cpu_unwind_file *f, uint64_t off,
		     struct sonde_unwind_rule *ret)
{
	const uint32_t words = sizeof(*ret) / sizeof(uint32_t), low = off & ((1u << SONDE_UNWIND_PAGE_SHIFT) - 1);
	const uint32_t pages = f->first_word + f->n_rules * words, rows = pages + f->n_pages + 1;
	const uint64_t page = (off >> SONDE_UNWIND_PAGE_SHIFT) - f->first_page;
	uint32_t span[2], row, rule[sizeof(*ret) / sizeof(uint32_t)];

	if (!f->n_rows || page >= f->n_pages || !read_words(t, pages + (uint32_t)page, span, 2))
		return false;
	while (span[1] - span[0] > 1) {
		uint32_t mid = span[0] + (span[1] - span[0]) / 2;

		if (!read_words(t, rows + mid, &row, 1))
			return false;
		span[SONDE_UNWIND_ROW_LOW(row) <= low ? 0 : 1] = mid;
	}
	if (!read_words(t, rows + span[0], &row, 1) ||
	    !read_words(t, f->first_word + SONDE_UNWIND_ROW_RULE(row) * words, rule, words))
		return false;
	memcpy(ret, rule, sizeof(*ret));
	return true;
}

bool cpu_tables_busy(const struct cpu_tables *t)
{
	return cpu_load_busy(t->loader);
}

void cpu_tables_stats(const struct cpu_tables *t, struct cpu_tables_stats *ret)
{
	*ret = t->stats;
	ret->pool_bytes = cpu_pool_bytes(t->pool);
}
