// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A file's key is device, inode number, size and modification time, so a rewritten file is a new one. A file with the
 * section names of Go programs is analysed by a worker without rights. The kernel side removes a process at exec and
 * exit; a layout is added here for the program that a process ran before and after, so it never survives an exec that
 * happens meanwhile.
 */
#include "probes/proc/proc_go.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "gobin/gobin.h"
#include "loop/coop.h"
#include "probe/env.h"
#include "sonde/go_wire.h"
#include "worker/worker.h"

#define FILES_MAX 65536		/* beyond it the table of files is cleared */
#define TIMEOUT_NS 10000000000ull

struct file_key {
	uint64_t dev, ino, size;
	int64_t mtime_ns;
};

struct file {
	bool is_go;		/* has a layout */
	struct sonde_go_layout layout;
};

struct proc_go {
	struct probe_env *env;
	int proc_fd;
	int files_fd, procs_fd;	/* borrowed */
	uint8_t *marks;		/* mapped; the programs write to it, too */
	struct map files;	/* struct file_key -> struct file */
	VEC(uint32_t) queue;	/* tgids still to be looked at */
	bool scan;		/* and all processes */
	struct coop_job job;
};

/* ---- files ---- */

static uint16_t off_of(const struct gobin_answer *a, enum gobin_field f)
{
	int32_t off = a->fields[f].off;

	return off >= 0 && off < SONDE_GO_NO_OFF ? (uint16_t)off : SONDE_GO_NO_OFF;
}

static void take_answer(const struct gobin_answer *a, struct file *file)
{
	file->layout = (struct sonde_go_layout){
		.tls = a->tls_off, .goid = off_of(a, GOBIN_F_G_GOID), .parent = off_of(a, GOBIN_F_G_PARENT),
		.m = off_of(a, GOBIN_F_G_M), .curg = off_of(a, GOBIN_F_M_CURG),
	};
#if defined(__x86_64__)
	file->is_go = file->layout.tls && file->layout.goid != SONDE_GO_NO_OFF;
#else	/* a register is believed only if m says so */
	file->is_go = file->layout.goid != SONDE_GO_NO_OFF && file->layout.m != SONDE_GO_NO_OFF &&
		      file->layout.curg != SONDE_GO_NO_OFF;
#endif
}

WORKER_PLAIN(gobin_run);

/* Other jobs and the loop run meanwhile. */
static void analyse(struct proc_go *g, int fd, struct file *file)
{
	struct gobin_request q = { .no_dwarf = true, .runtime_only = true };
	const struct worker_opts o = {
		.name = "sonde go", .cpu_seconds = 10, .memory_bytes = 512u << 20, .ctx_bytes = sizeof(q),
	};
	struct coop *coop = probe_env_coop(g->env);
	_cleanup_free_ char *data = malloc(GOBIN_ANSWER_CAP);
	struct gobin_answer *a = NULL;
	struct err err = { 0 };
	bool left;
	ssize_t n;

	if (!data)
		return;
	left = coop_leave(coop);
	n = worker_call(&o, gobin_run, &q, fd, data, GOBIN_ANSWER_CAP, TIMEOUT_NS, &err);
	coop_return(coop, left);
	if (n > 0 && gobin_answer_parse(data, (size_t)n, &a, &err) == 0)
		take_answer(a, file);
	gobin_answer_free(a);
}

static bool key_of(int fd, struct file_key *ret)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	*ret = (struct file_key){
		.dev = st.st_dev, .ino = st.st_ino, .size = (uint64_t)st.st_size,
		.mtime_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec,
	};
	return true;
}

/* The kernel side then gives new processes of the file its layout. */
static void publish(const struct proc_go *g, const struct file_key *key, const struct file *file)
{
	const struct sonde_go_file f = {
		.ino = key->ino, .size = key->size,
		.dev = (uint32_t)(major(key->dev) << 20 | minor(key->dev)),
	};

	bpf_map_update_elem(g->files_fd, &f, &file->layout, BPF_ANY);
}

/* False for what is not a Go program. */
static bool file_of(struct proc_go *g, int fd, const struct file_key *key, struct file *ret)
{
	const struct file *known = map_find(&g->files, key);

	if (known) {
		*ret = *known;
		return ret->is_go;
	}
	*ret = (struct file){ 0 };
	if (gobin_may_be_go(fd))
		analyse(g, fd, ret);
	if (ret->is_go)
		publish(g, key, ret);
	if (g->files.len >= FILES_MAX)
		map_clear(&g->files);
	map_put(&g->files, key, ret);
	return ret->is_go;
}

/* ---- processes ---- */

static int open_exe(const struct proc_go *g, uint32_t tgid)
{
	char path[32];

	snprintf(path, sizeof(path), "%u/exe", tgid);
	return openat(g->proc_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static bool runs(const struct proc_go *g, uint32_t tgid, const struct file_key *key)
{
	_cleanup_close_ int fd = open_exe(g, tgid);
	struct file_key now;

	return key_of(fd, &now) && !memcmp(&now, key, sizeof(now));
}

static void give_layout(struct proc_go *g, uint32_t tgid, const struct file_key *key, const struct file *file)
{
	if (bpf_map_update_elem(g->procs_fd, &tgid, &file->layout, BPF_ANY) < 0)
		return;
	if (!g->marks[tgid & (SONDE_GO_MARKS - 1)])
		__atomic_store_n(&g->marks[tgid & (SONDE_GO_MARKS - 1)], SONDE_GO_MARK_GO, __ATOMIC_RELEASE);
	if (!runs(g, tgid, key))	/* its next exec has a record of its own */
		bpf_map_delete_elem(g->procs_fd, &tgid);
}

static void inspect_exe(struct proc_go *g, uint32_t tgid)
{
	_cleanup_close_ int fd = open_exe(g, tgid);
	struct file_key key;
	struct file file;

	if (key_of(fd, &key) && file_of(g, fd, &key, &file))
		give_layout(g, tgid, &key, &file);
}

static void look_at_all(struct proc_go *g)
{
	struct coop *coop = probe_env_coop(g->env);
	_cleanup_(closedirp) DIR *dir = io_opendir(g->proc_fd, ".");
	struct dirent *e;
	uint32_t tgid;

	while (dir && !coop_cancelled(coop) && (e = readdir(dir)))
		if (str_to_u32(e->d_name, 10, &tgid) == 0) {
			inspect_exe(g, tgid);
			coop_yield(coop);
		}
}

/* The queue may grow meanwhile. */
static void run_job(void *ctx)
{
	struct proc_go *g = ctx;
	struct coop *coop = probe_env_coop(g->env);

	if (g->scan)
		look_at_all(g);
	g->scan = false;
	for (size_t i = 0; i < g->queue.len && !coop_cancelled(coop); i++) {
		inspect_exe(g, g->queue.items[i]);
		coop_yield(coop);
	}
	g->queue.len = 0;
}

static void submit(struct proc_go *g)
{
	if (g->job.state == COOP_IDLE)
		coop_submit(probe_env_coop(g->env), &g->job);
}

void proc_go_process(struct proc_go *g, uint32_t tgid)
{
	if (vec_push(&g->queue, tgid) < 0)
		return;
	submit(g);
}

void proc_go_scan(struct proc_go *g, const uint32_t *pids, size_t n_pids)
{
	for (size_t i = 0; i < n_pids; i++)
		inspect_exe(g, pids[i]);
	if (n_pids)
		return;
	g->scan = true;
	submit(g);
}

void proc_go_stop(struct proc_go *g)
{
	if (g->job.state != COOP_IDLE)
		coop_withdraw(probe_env_coop(g->env), &g->job);
}

/* ---- life ---- */

void proc_go_free(struct proc_go *g)
{
	if (!g)
		return;
	if (g->marks)
		munmap(g->marks, SONDE_GO_MARKS);
	map_fini(&g->files);
	vec_fini(&g->queue);
	cleanup_close(&g->proc_fd);
	free(g);
}

DEFINE_CLEANUP(struct proc_go *, proc_go_free)

static int map_marks(struct proc_go *g, int fd)
{
	void *marks = mmap(NULL, SONDE_GO_MARKS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (marks == MAP_FAILED)
		return -errno;
	g->marks = marks;
	return 0;
}

int proc_go_new(struct bpf_object *obj, struct probe_env *env, struct proc_go **ret, struct err *err)
{
	_cleanup_(proc_go_freep) struct proc_go *g = calloc(1, sizeof(*g));
	char path[4096];
	int r;

	if (!g)
		return err_errno(err, -ENOMEM, "cannot follow Go programs");
	g->env = env;
	g->job = (struct coop_job){ .name = "Go programs", .run = run_job, .ctx = g };
	map_init(&g->files, sizeof(struct file_key), sizeof(struct file));
	g->files_fd = bpf_object__find_map_fd_by_name(obj, "proc_go_files");
	g->procs_fd = bpf_object__find_map_fd_by_name(obj, "sonde_go_procs");
	snprintf(path, sizeof(path), "%s/proc", probe_env_host_root(env));
	g->proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (g->proc_fd < 0)
		return err_errno(err, -errno, "cannot open %s", path);
	r = map_marks(g, bpf_object__find_map_fd_by_name(obj, "sonde_go_marks"));
	if (r < 0)
		return err_errno(err, r, "cannot map the marks of Go programs");
	*ret = TAKE_PTR(g);
	return 0;
}
