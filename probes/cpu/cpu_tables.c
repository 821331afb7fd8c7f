// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A file is compiled once for all processes that map it: its key is what the kernel knows it by (device, inode
 * number, generation). What cannot be opened because the process is gone is forgotten, so that the next process with
 * that file asks again; what cannot be compiled gets an empty table, so that nobody does.
 */
#include "probes/cpu/cpu_tables.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "elf/ehframe.h"
#include "elf/elf.h"
#include "elf/mapped_file.h"
#include "probes/cpu/cpu_pool.h"
#include "probes/cpu/cpu_unwind_wire.h"
#include "probes/cpu/cpu_wire.h"
#include "worker/worker.h"

#define FILES_MAX 65536u
#define ELF_BUDGET_BYTES (128u << 20)	/* what the compiler may load of a file */
#define TABLE_MAX_BYTES (32u << 20)
#define WORKER_TIMEOUT_NS 2000000000ull
#define GONE_AGAIN_NS 100000000ull	/* a file whose process was gone may be asked for after */

struct table {
	uint32_t first, n_units;	/* of the pool */
	uint32_t n_rows, bytes;
};

struct cpu_tables {
	struct cpu_pool *pool;
	int files_fd, asked_fd, proc_fd;
	uint32_t max_files;
	struct map tables;		/* struct cpu_file_key -> struct table */
	struct cpu_tables_stats stats;
};

static uint32_t max_files(uint64_t budget_bytes)
{
	uint64_t n = budget_bytes / sizeof(struct cpu_unwind_unit);

	return (uint32_t)MIN(MAX(n, 256ull), (uint64_t)FILES_MAX);
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

/* When programs that might still read what was taken out of the maps have ended. */
static void wait_for_readers(void)
{
	const struct timespec pause = { .tv_nsec = 20000000 };	/* no grace period to be had: far more than a walk */

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0)
		nanosleep(&pause, NULL);
}

/* The file that was used least recently, or false when there is none. */
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
	struct cpu_file_key key;
	struct table *table;

	if (!find_oldest(t, &key))
		return -ENOSPC;
	bpf_map_delete_elem(t->files_fd, &key);
	bpf_map_delete_elem(t->asked_fd, &key);
	wait_for_readers();
	table = map_find(&t->tables, &key);
	cpu_pool_give(t->pool, table->first, table->n_units);
	t->stats.files--;
	t->stats.rows -= table->n_rows;
	t->stats.bytes -= table->bytes;
	t->stats.evicted++;
	map_remove(&t->tables, &key);
	return 0;
}

static int take_units(struct cpu_tables *t, uint32_t n, uint32_t *ret_first)
{
	int r = 0;

	while (r == 0 && t->tables.len >= t->max_files - 1)
		r = evict_one(t);
	while (r == 0) {
		r = cpu_pool_take(t->pool, n, ret_first);
		if (r != -ENOSPC)
			return r;
		r = evict_one(t);
	}
	return r;
}

/* ---- putting a table into the kernel ---- */

static int publish(struct cpu_tables *t, const struct cpu_file_key *key, const struct sonde_unwind_head *h,
		   const struct table *table)
{
	const struct cpu_unwind_file f = {
		.used_ns = clock_boot_ns(), .first_page = h->first_page, .first_word = table->first * CPU_UNIT_WORDS,
		.n_rules = h->n_rules, .n_pages = h->n_pages, .n_rows = h->n_rows,
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

/* @blob as ehframe_compile() makes it; it comes from a process that is not trusted. */
static int put_table(struct cpu_tables *t, const struct cpu_file_key *key, const void *blob, size_t len)
{
	struct sonde_unwind_head h;
	struct table table = { 0 };
	int r = ehframe_check(blob, len, &h);

	if (r < 0)
		return r;
	if (h.n_rows) {
		table.n_units = (uint32_t)(ROUND_UP(len - sizeof(h), sizeof(struct cpu_unwind_unit)) /
					   sizeof(struct cpu_unwind_unit));
		table.bytes = table.n_units * (uint32_t)sizeof(struct cpu_unwind_unit);
		table.n_rows = h.n_rows;
	}
	r = take_units(t, table.n_units, &table.first);
	if (r < 0)
		return r;
	if (table.n_units)
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
	int r = ehframe_empty(&blob);

	return r < 0 ? r : put_table(t, key, blob.data, blob.len);
}

/* ---- compiling ---- */

DEFINE_CLEANUP(struct elf *, elf_free)

/* A file that is no ELF file, or has no .eh_frame, is not wrong: mapped code can be anything. */
static int compile_file(int fd, struct buf *ret)
{
	_cleanup_(elf_freep) struct elf *e = NULL;
	int r = elf_open_fd(fd, ELF_BUDGET_BYTES, &e);

	if (r == 0)
		r = ehframe_compile(e, TABLE_MAX_BYTES, ret);
	if (r != -ENOENT && r != -EBADMSG)
		return r;
	buf_reset(ret);
	return ehframe_empty(ret);
}

static int write_all(int fd, const char *p, size_t len)
{
	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EIO;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* In the worker. Its status is the errno, as far as that fits. */
static int work(void *ctx, int in_fd, int out_fd)
{
	struct buf blob = { 0 };
	int r = compile_file(in_fd, &blob);

	(void)ctx;
	if (r == 0)
		r = write_all(out_fd, blob.data, blob.len);
	return r < 0 ? MIN(-r, 255) : 0;
}

/* Compiles in a worker and puts the table into the kernel. */
static int load_fd(struct cpu_tables *t, const struct cpu_file_key *key, int fd, struct err *err)
{
	const struct worker_opts o = { .name = "sonde unwind", .memory_bytes = 1ull << 30, .cpu_seconds = 2 };
	_cleanup_free_ char *blob = malloc(TABLE_MAX_BYTES);	/* touched as far as it is filled */
	ssize_t len;
	int r;

	if (!blob)
		return err_errno(err, -ENOMEM, "no unwind table");
	len = worker_call(&o, work, NULL, fd, blob, TABLE_MAX_BYTES, WORKER_TIMEOUT_NS, err);
	if (len < 0)
		return (int)len;
	r = put_table(t, key, blob, (size_t)len);
	return r < 0 ? err_errno(err, r, "no unwind table") : 0;
}

/* ---- requests ---- */

static bool is_gone(int r)
{
	return r == -ENOENT || r == -ESRCH || r == -ESTALE;
}

static void ask_again(struct cpu_tables *t, const struct cpu_file_key *key)
{
	uint64_t due = clock_boot_ns() + GONE_AGAIN_NS;

	t->stats.gone++;
	bpf_map_update_elem(t->asked_fd, key, &due, BPF_ANY);
}

static int refuse(struct cpu_tables *t, const struct cpu_file_key *key, const struct cpu_need_rec *r, int why,
		  struct err *err)
{
	t->stats.refused++;
	if (put_empty(t, key) < 0)
		ask_again(t, key);
	err_prefix(err, "inode %llu on device %u:%u, mapped by process %u, is walked by frame pointers",
		   (unsigned long long)key->ino, key->dev >> 20, key->dev & 0xfffff, r->hdr.tgid);
	return why;
}

static void count_time(struct cpu_tables *t, uint64_t began_ns)
{
	uint64_t took = clock_boot_ns() - began_ns;

	t->stats.load_ns += took;
	t->stats.load_max_ns = MAX(t->stats.load_max_ns, took);
}

int cpu_tables_need(struct cpu_tables *t, const struct cpu_need_rec *rec, struct err *err)
{
	const struct cpu_file_key key = { .ino = rec->ino, .dev = rec->dev, .generation = rec->ino_generation };
	const struct mapped_file where = { .start = rec->start, .end = rec->end, .ino = rec->ino };
	uint64_t began = clock_boot_ns();
	_cleanup_close_ int fd = -1;
	int r;

	if (!key.dev || map_find(&t->tables, &key))
		return 0;
	fd = mapped_file_open(t->proc_fd, rec->hdr.tgid, &where);
	if (is_gone(fd)) {
		ask_again(t, &key);
		return err_errno(err, fd, "the file mapped by process %u is gone", rec->hdr.tgid);
	}
	if (fd < 0)
		return refuse(t, &key, rec, err_errno(err, fd, "cannot open it"), err);
	r = load_fd(t, &key, fd, err);
	if (r < 0)
		return refuse(t, &key, rec, r, err);
	count_time(t, began);
	return 0;
}

/* ---- the whole ---- */

/* Our own is that of all processes. Trusted: the kernel made it. */
static int load_vdso(struct cpu_tables *t)
{
	const struct cpu_file_key key = { .ino = CPU_FILE_VDSO };
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	_cleanup_(buf_fini) struct buf blob = { 0 };
	_cleanup_(elf_freep) struct elf *e = NULL;
	int r;

	if (!h)
		return -ENOENT;
	r = elf_open_mem(h, (size_t)(h->e_shoff + (uint64_t)h->e_shnum * h->e_shentsize), ELF_BUDGET_BYTES, &e);
	if (r == 0)
		r = ehframe_compile(e, TABLE_MAX_BYTES, &blob);
	return r < 0 ? r : put_table(t, &key, blob.data, blob.len);
}

DEFINE_CLEANUP(struct cpu_tables *, cpu_tables_free)

int cpu_tables_new(struct bpf_object *obj, uint64_t budget_bytes, const char *proc_path, struct cpu_tables **ret,
		   struct err *err)
{
	_cleanup_(cpu_tables_freep) struct cpu_tables *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return err_errno(err, -ENOMEM, "no unwind tables");
	map_init(&t->tables, sizeof(struct cpu_file_key), sizeof(struct table));
	t->max_files = max_files(budget_bytes);
	t->files_fd = bpf_object__find_map_fd_by_name(obj, "cpu_unwind_files");
	t->asked_fd = bpf_object__find_map_fd_by_name(obj, "cpu_unwind_asked");
	t->proc_fd = open(proc_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t->proc_fd < 0)
		return err_errno(err, -errno, "no unwind tables: cannot open %s", proc_path);
	r = t->files_fd < 0 || t->asked_fd < 0 ? -ENOENT : cpu_pool_new(obj, budget_bytes, &t->pool);
	if (r < 0)
		return err_errno(err, r, "no unwind tables");
	r = load_vdso(t);
	if (r < 0 && put_empty(t, &(struct cpu_file_key){ .ino = CPU_FILE_VDSO }) < 0)
		return err_errno(err, r, "no unwind tables");
	*ret = TAKE_PTR(t);
	return 0;
}

void cpu_tables_free(struct cpu_tables *t)
{
	if (!t)
		return;
	cpu_pool_free(t->pool);
	map_fini(&t->tables);
	if (t->proc_fd >= 0)
		close(t->proc_fd);
	free(t);
}

void cpu_tables_stats(const struct cpu_tables *t, struct cpu_tables_stats *ret)
{
	*ret = t->stats;
	ret->pool_bytes = cpu_pool_bytes(t->pool);
}
