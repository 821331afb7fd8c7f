// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A file's key is device, inode number, size and modification time, so a rewritten file is a new one. An unprivileged
 * worker parses the file through a descriptor. Probes are attached through the same descriptor, so they go to the
 * inspected file even if its path was replaced.
 */
#include "probes/gohttp2/gohttp2_files.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "event/decode.h"
#include "loop/coop.h"
#include "base/err.h"
#include "base/io.h"
#include "base/map.h"
#include "base/rights.h"
#include "base/str.h"
#include "base/vec.h"
#include "gobin/gobin.h"
#include "probes/gohttp2/gohttp2_conns.h"
#include "probes/gohttp2/gohttp2_exe.h"
#include "probes/gohttp2/gohttp2_layout.h"
#include "probes/gohttp2/gohttp2_inspect.h"
#include "probes/gohttp2/gohttp2_mapped.h"
#include "probes/gohttp2/gohttp2_wire.h"

#define WATCHED_MAX 256		/* files; beyond it the one used least is detached */
#define SITES_MAX (GOHTTP2_SITE__MAX * GOHTTP2_COPY__MAX)

struct file_key {
	uint64_t dev, ino, size;
	int64_t mtime_ns;
};

struct file {
	struct file_key key;
	uint32_t module;		/* even */
	bool refused;			/* not a Go program, no probe site, or not inspected yet */
	bool looking;			/* a job inspects it */
	bool attached, moves, library;
	uint64_t base, code;		/* addresses in the file: first mapping, code */
	struct gohttp2_layout layouts[GOHTTP2_COPY__MAX];
	struct gohttp2_conns *conns;	/* owned */
	struct gohttp2_attach sites[SITES_MAX];
	size_t n_sites, n_attached;
	struct bpf_link *links[SITES_MAX]; /* owned; a single one with uprobe.multi */
	size_t n_links;
	uint32_t users;			/* processes */
	uint64_t uses;			/* programs started so far */
	char text[256];			/* Go release, or why it is not watched */
};

struct process {
	uint64_t start_ns;
	VEC(struct file *) files;	/* borrowed: program first, then libraries */
};

struct gohttp2_files {
	struct gohttp2_files_opts o;
	int proc_fd;
	int layouts_fd, linked_fd, files_fd, tgids_fd, conns_fd;
	VEC(struct file *) files;	/* owned */
	struct map by_key;		/* struct file_key -> struct file * */
	/* lint-ok(tables): which files of a process are attached */
	struct map processes;		/* uint32_t -> struct process */
	unsigned n_looked;		/* files inspected so far */
	struct coop_job detaching;	/* of `old` */
	struct bpf_link *old[SITES_MAX]; /* owned; of a file that was used least */
	size_t n_old;
	struct gohttp2_mapped *mapped;	/* owned */
};

/* ---- attaching ---- */

static bool insn_is_there(int fd, const struct gohttp2_attach *a)
{
	uint8_t now[sizeof(a->insn)];

	return pread(fd, now, a->insn_len, (off_t)a->file_off) == a->insn_len && !memcmp(now, a->insn, a->insn_len);
}

static uint64_t cookie_of(const struct file *file, const struct gohttp2_attach *a)
{
	return (uint64_t)(file->module | a->copy) << GOHTTP2_COOKIE_SHIFT | a->site;
}

/* Attaches the sites of one program by one link, which also detaches in one step. */
static int attach_program(const struct bpf_program *prog, struct file *file, const char *path, bool range)
{
	unsigned long offsets[SITES_MAX];
	unsigned long long cookies[SITES_MAX];	/* libbpf's __u64 */
	LIBBPF_OPTS(bpf_uprobe_multi_opts, opts, .offsets = offsets, .cookies = cookies);
	struct bpf_link *link;

	for (size_t i = 0; i < file->n_sites; i++) {
		if (file->sites[i].range != range)
			continue;
		offsets[opts.cnt] = file->sites[i].file_off;
		cookies[opts.cnt++] = cookie_of(file, &file->sites[i]);
	}
	if (!opts.cnt)
		return 0;
	if (!prog)
		return -ENOTSUP;
	link = bpf_program__attach_uprobe_multi(prog, -1, path, NULL, &opts);
	if (!link)
		return -errno;
	file->links[file->n_links++] = link;
	file->n_attached += opts.cnt;
	return 0;
}

static int attach_together(struct gohttp2_files *f, struct file *file, const char *path)
{
	int r = attach_program(f->o.multi, file, path, false);

	return r < 0 ? r : attach_program(f->o.range_multi, file, path, true);
}

/* A site that fails does not affect the others; the kernel side sees it as absent. */
static int attach_each(struct gohttp2_files *f, struct file *file, const char *path)
{
	/* uprobes by perf events need CAP_SYS_ADMIN */
	uint64_t _cleanup_rights_ was = rights_raise(RIGHT(CAP_SYS_ADMIN));
	int first = -ENOTSUP;

	for (size_t i = 0; i < file->n_sites; i++) {
		const struct bpf_program *prog = file->sites[i].range ? f->o.range_single : f->o.single;
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = cookie_of(file, &file->sites[i]));
		struct bpf_link *link = NULL;

		errno = ENOTSUP;
		if (prog)
			link = bpf_program__attach_uprobe_opts(prog, -1, path, file->sites[i].file_off, &opts);
		if (!link) {
			first = -errno;
			file->layouts[file->sites[i].copy].args[file->sites[i].site][0] = GOHTTP2_ARG_NONE;
			continue;
		}
		file->links[file->n_links++] = link;
		file->n_attached++;
	}
	return file->n_attached ? 0 : first;
}

static void detach(struct file *file)
{
	for (size_t i = 0; i < file->n_links; i++)
		bpf_link__destroy(file->links[i]);
	file->n_links = file->n_attached = 0;
	file->attached = false;
}

/* Attaches only where the inspected instructions still are, and checks them again afterwards. */
static int attach(struct gohttp2_files *f, struct file *file, int fd)
{
	char path[64];
	int r;

	for (size_t i = 0; i < file->n_sites; i++)
		if (!insn_is_there(fd, &file->sites[i]))
			return -ESTALE;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = attach_together(f, file, path);
	if (r < 0)
		detach(file);
	if (r < 0)
		r = attach_each(f, file, path);
	for (size_t i = 0; r >= 0 && i < file->n_sites; i++)
		if (!insn_is_there(fd, &file->sites[i]))
			r = -ESTALE;
	if (r < 0)
		detach(file);
	file->attached = r >= 0;
	return r;
}

/* ---- files ---- */

static struct gohttp2_file_key kernel_key(const struct file *file)
{
	return (struct gohttp2_file_key){
		.ino = file->key.ino,
		.size = file->key.size,
		.dev = (uint32_t)(major(file->key.dev) << 20 | minor(file->key.dev)),
	};
}

/* The kernel side then gives new processes of the file their layouts. */
static void publish(struct gohttp2_files *f, const struct file *file)
{
	const struct gohttp2_file_key key = kernel_key(file);
	const struct gohttp2_file_val val = { .code = file->code, .module = file->module, .moves = file->moves };

	for (uint32_t copy = 0; copy < GOHTTP2_COPY__MAX; copy++) {
		uint32_t module = file->module | copy;

		bpf_map_update_elem(f->linked_fd, &module, &file->layouts[copy], BPF_ANY);
	}
	gohttp2_conns_publish(file->conns, f->conns_fd, file->module);
	bpf_map_update_elem(f->files_fd, &key, &val, BPF_ANY);
}

static void withdraw(struct gohttp2_files *f, const struct file *file)
{
	const struct gohttp2_file_key key = kernel_key(file);

	bpf_map_delete_elem(f->files_fd, &key);
	gohttp2_conns_withdraw(file->conns, f->conns_fd, file->module);
	for (uint32_t copy = 0; copy < GOHTTP2_COPY__MAX; copy++) {
		uint32_t module = file->module | copy;

		bpf_map_delete_elem(f->linked_fd, &module);
	}
}

static void describe(struct file *file, const struct gobin_answer *a)
{
	const char *version = gobin_str(a, a->go_version);

	snprintf(file->text, sizeof(file->text), "%s%s", *version ? version : "unknown Go release",
		 file->n_sites ? "" : ": no gRPC or HTTP/2 that can be watched");
}

static void inspect_file(struct gohttp2_files *f, struct file *file, int fd)
{
	struct gobin_answer *a = NULL;
	struct err err = { 0 };
	uint64_t code = 0;
	bool left;
	int r;

	file->refused = file->looking = true;
	left = coop_leave(f->o.coop);
	r = gohttp2_inspect(fd, f->o.exclude, f->o.ctx, &a, &code, &err);
	coop_return(f->o.coop, left);
	file->looking = false;
	file->code = code;
	f->n_looked++;
	if (r < 0) {
		if (r != -ENOEXEC)
			snprintf(file->text, sizeof(file->text), "%.250s", err.msg);
		return;
	}
	file->n_sites = gohttp2_layout_sites(a, f->o.sets, file->sites);
	for (unsigned copy = 0; copy < GOHTTP2_COPY__MAX; copy++) {
		gohttp2_layout_make(a, copy, &file->layouts[copy]);
		file->layouts[copy].module = file->module;
	}
	file->conns = gohttp2_conns_new(a);
	file->base = a->base;
	file->moves = a->mode != GOBIN_EXE;
	file->library = a->mode == GOBIN_SHARED || a->mode == GOBIN_PLUGIN;
	file->refused = !file->n_sites;
	describe(file, a);
	gobin_answer_free(a);
}

/* The file behind @fd, inspected if new. NULL without memory, or for other than regular files. */
static struct file *file_of(struct gohttp2_files *f, int fd)
{
	struct file_key key = { 0 };
	struct file **slot, *file;
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	key = (struct file_key){
		.dev = st.st_dev, .ino = st.st_ino, .size = (uint64_t)st.st_size,
		.mtime_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec,
	};
	slot = map_find(&f->by_key, &key);
	if (slot)
		return *slot;
	file = calloc(1, sizeof(*file));
	slot = file && vec_grow(&f->files) >= 0 ? map_add(&f->by_key, &key, NULL) : NULL;
	if (!slot) {
		free(file);
		return NULL;
	}
	file->key = key;
	file->module = (uint32_t)f->files.len << 1;
	f->files.items[f->files.len++] = file;
	*slot = file;
	inspect_file(f, file, fd);
	return file;
}

/* Attaches the file unless it is. 0 or -errno. */
static int use_file(struct gohttp2_files *f, struct file *file, int fd)
{
	int r;

	if (file->refused)
		return -ENOEXEC;
	if (file->attached)
		return 0;
	r = attach(f, file, fd);
	if (r < 0) {
		snprintf(file->text, sizeof(file->text), "%s",
			 r == -ESTALE ? "the file changed during inspection" : strerror(-r));
		return r;
	}
	publish(f, file);
	return 0;
}

/* ---- processes ---- */

static FILE *open_maps(const struct gohttp2_files *f, uint32_t tgid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "%u/maps", tgid);
	fd = openat(f->proc_fd, path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? NULL : fdopen(fd, "r");
}

/*
 * Load bias: distance of the process's addresses from those in the file, by its lowest mapping. -ESRCH if the process
 * does not map the file (any more).
 */
static int bias_of(struct gohttp2_files *f, uint32_t tgid, const struct file *file, uint64_t *ret)
{
	_cleanup_fclose_ FILE *maps = NULL;
	_cleanup_free_ char *line = NULL;
	size_t cap = 0;

	*ret = 0;
	if (!file->moves)
		return 0;
	maps = open_maps(f, tgid);
	while (maps && getline(&line, &cap, maps) > 0) {
		uint64_t start, ino;

		if (sscanf(line, "%" SCNx64 "-%*x %*s %*x %*x:%*x %" SCNu64, &start, &ino) != 2 ||
		    ino != file->key.ino)
			continue;
		*ret = start - file->base;
		return 0;
	}
	return -ESRCH;
}

static int give_layouts(struct gohttp2_files *f, uint32_t tgid, const struct file *file)
{
	uint64_t bias;
	int r = bias_of(f, tgid, file, &bias);

	if (r < 0)
		return r;
	for (uint32_t copy = 0; copy < GOHTTP2_COPY__MAX; copy++) {
		struct gohttp2_key key = { .tgid = tgid, .module = file->module | copy };
		struct gohttp2_layout l = file->layouts[copy];

		gohttp2_layout_move(&l, bias);
		l.born = (uint32_t)clock_boot_ns();
		if (bpf_map_update_elem(f->layouts_fd, &key, &l, BPF_ANY) < 0)
			return -errno;
	}
	/* on exit the kernel side drops one module of the process; gohttp2_files_exit() drops the others */
	r = bpf_map_update_elem(f->tgids_fd, &tgid, &file->module, file->library ? BPF_NOEXIST : BPF_ANY);
	return r < 0 && errno != EEXIST ? -errno : 0;
}

static void take_layouts(struct gohttp2_files *f, uint32_t tgid, const struct file *file)
{
	for (uint32_t copy = 0; copy < GOHTTP2_COPY__MAX; copy++) {
		struct gohttp2_key key = { .tgid = tgid, .module = file->module | copy };

		bpf_map_delete_elem(f->layouts_fd, &key);
	}
}

void gohttp2_files_exit(struct gohttp2_files *f, uint32_t tgid)
{
	struct process *p = map_find(&f->processes, &tgid);

	for (size_t i = 0; p && i < p->files.len; i++) {
		struct file *file = p->files.items[i];

		if (file->library)
			take_layouts(f, tgid, file);
		file->users--;
	}
	if (p)
		vec_fini(&p->files);
	map_remove(&f->processes, &tgid);
}

static bool has_file(struct gohttp2_files *f, uint32_t tgid, const struct file *file)
{
	const struct process *p = map_find(&f->processes, &tgid);

	return p && vec_find(it, &p->files, *it == file);
}

static int adopt(struct gohttp2_files *f, uint32_t tgid, uint64_t start_ns, struct file *file)
{
	struct process *p;
	int r = give_layouts(f, tgid, file);

	if (r >= 0 && !gohttp2_exe_is_there(f->proc_fd, tgid)) {	/* it ended before the kernel side knew it */
		take_layouts(f, tgid, file);
		bpf_map_delete_elem(f->tgids_fd, &tgid);
		r = -ESRCH;
	}
	if (r < 0)
		return r;
	p = map_add(&f->processes, &tgid, NULL);
	if (!p || vec_grow(&p->files) < 0)
		return -ENOMEM;
	p->start_ns = start_ns;
	p->files.items[p->files.len++] = file;
	file->users++;
	file->uses++;
	return 0;
}

/* Attaches the file behind @fd and adds the process. */
static int watch(struct gohttp2_files *f, uint32_t tgid, uint64_t start_ns, struct file *file, int fd)
{
	int r = use_file(f, file, fd);

	if (r >= 0)
		r = adopt(f, tgid, start_ns, file);
	if (r >= 0 || (r != -ESRCH && file->text[0]))
		f->o.report(f->o.ctx, tgid, start_ns, r < 0 ? 0 : (uint32_t)file->n_attached, file->text);
	return r;
}

int gohttp2_files_process(struct gohttp2_files *f, uint32_t tgid, uint64_t start_ns)
{
	_cleanup_close_ int fd = gohttp2_exe_open(f->proc_fd, tgid);
	struct file *file;

	if (fd < 0)
		return fd;
	file = file_of(f, fd);
	if (!file)
		return -ENOEXEC;
	return has_file(f, tgid, file) ? 0 : watch(f, tgid, start_ns, file, fd);
}

int gohttp2_files_start(struct gohttp2_files *f, const struct gohttp2_start_rec *r)
{
	bool gone = false;
	_cleanup_close_ int fd = gohttp2_exe_started(f->proc_fd, r, &gone);
	struct file *file = fd < 0 ? NULL : file_of(f, fd);
	int e;

	if (!file || file->looking)
		return file ? -EAGAIN : -ENOEXEC;
	if (gone) {
		e = use_file(f, file, fd);
		file->uses++;
	} else {
		e = has_file(f, r->hdr.tgid, file) ? 0 : watch(f, r->hdr.tgid, r->hdr.start_ns, file, fd);
	}
	if (!r->known && r->selected && file->attached)
		f->o.late(f->o.ctx, r, fd, gone || e < 0);
	return e;
}

/* Parses a line of /proc/PID/maps. False unless it is an executable mapping of a file. */
static bool parse_executable(const char *line, uint32_t tgid, struct sonde_mmap_rec *ret)
{
	unsigned major_no, minor_no;
	uint64_t start, end, ino;
	char exec;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*c%*c%c%*c %*x %x:%x %" SCNu64, &start, &end, &exec, &major_no,
		   &minor_no, &ino) != 6)
		return false;
	*ret = (struct sonde_mmap_rec){
		.hdr.tgid = tgid, .addr = start, .len = end - start, .ino = ino,
		.dev = major_no << 20 | minor_no,
	};
	return exec == 'x' && ino;
}

static bool can_watch_library(struct gohttp2_files *f, uint32_t tgid)
{
	_cleanup_fclose_ FILE *maps = open_maps(f, tgid);
	_cleanup_free_ char *line = NULL;
	const struct file *file = NULL;
	struct sonde_mmap_rec map;
	size_t cap = 0;

	while (maps && !(file && file->library && !file->refused) && getline(&line, &cap, maps) > 0) {
		_cleanup_close_ int fd = -1;

		if (parse_executable(line, tgid, &map))
			fd = gohttp2_mapped_open(f->mapped, f->proc_fd, &map);
		file = fd < 0 ? NULL : file_of(f, fd);
	}
	return file && file->library && !file->refused;
}

bool gohttp2_files_can_watch(struct gohttp2_files *f, uint32_t tgid)
{
	_cleanup_close_ int fd = gohttp2_exe_open(f->proc_fd, tgid);
	const struct file *program = fd < 0 ? NULL : file_of(f, fd);

	return (program && !program->refused) || can_watch_library(f, tgid);
}

int gohttp2_files_mapping(struct gohttp2_files *f, const struct sonde_rec *r)
{
	_cleanup_close_ int fd = -1;
	struct sonde_mmap_rec map;
	struct file *file;

	if (!decode_fixed(r, &map, sizeof(map)))
		return -EBADMSG;
	fd = gohttp2_mapped_open(f->mapped, f->proc_fd, &map);
	if (fd < 0)
		return fd;
	file = file_of(f, fd);
	if (file && file->looking)
		return -EAGAIN;
	if (!file || !file->library) {	/* programs are added on exec */
		gohttp2_mapped_refuse(f->mapped, &map);
		return -ENOEXEC;
	}
	return has_file(f, r->tgid, file) ? 0 : watch(f, r->tgid, r->start_ns, file, fd);
}

int gohttp2_files_expect(struct gohttp2_files *f, const char *name)
{
	_cleanup_close_ int fd = io_open_program(name);
	struct file *file;

	if (fd < 0)
		return fd;
	file = file_of(f, fd);
	return file ? use_file(f, file, fd) : -ENOEXEC;
}

static int scan_once(struct gohttp2_files *f)
{
	_cleanup_(closedirp) DIR *dir = io_opendir(f->proc_fd, ".");
	struct dirent *e;
	uint32_t tgid;

	if (!dir)
		return -errno;
	while ((e = readdir(dir)) && coop_return(f->o.coop, coop_leave(f->o.coop)) >= 0)
		if (str_to_u32(e->d_name, 10, &tgid) == 0 && tgid != (uint32_t)getpid())
			gohttp2_files_process(f, tgid, 0);
	return 0;
}

/* Repeats while files were inspected: processes may have started meanwhile. */
int gohttp2_files_scan(struct gohttp2_files *f)
{
	unsigned looked;
	int r;

	do {
		looked = f->n_looked;
		r = scan_once(f);
	} while (r >= 0 && looked != f->n_looked && coop_inside(f->o.coop) && !coop_cancelled(f->o.coop));
	return r;
}

/* A job: unregistering the probes of a file waits for the kernel, up to 79 ms. */
static void detach_old(void *ctx)
{
	struct gohttp2_files *f = ctx;
	bool left = coop_leave(f->o.coop);

	for (size_t i = 0; i < f->n_old; i++)
		bpf_link__destroy(f->old[i]);
	coop_return(f->o.coop, left);
	f->n_old = 0;
}

/* The attached file without a process that was used least; NULL = none, or no more than WATCHED_MAX are attached. */
static struct file *find_surplus(const struct gohttp2_files *f)
{
	struct file *least = NULL;
	size_t n = 0;

	for (size_t i = 0; i < f->files.len; i++) {
		struct file *file = f->files.items[i];

		n += file->attached;
		if (file->attached && !file->users && (!least || file->uses < least->uses))
			least = file;
	}
	return n > WATCHED_MAX ? least : NULL;
}

void gohttp2_files_tick(struct gohttp2_files *f)
{
	struct file *file = f->n_old ? NULL : find_surplus(f);

	if (!file)
		return;
	withdraw(f, file);
	memcpy(f->old, file->links, file->n_links * sizeof(*f->old));
	f->n_old = file->n_links;
	file->n_links = file->n_attached = 0;
	file->attached = false;
	coop_submit(f->o.coop, &f->detaching);
}

const char *gohttp2_files_conn_name(const struct gohttp2_files *f, uint32_t module, uint64_t type)
{
	size_t i = module >> 1;	/* as file_of() numbers them */

	return i < f->files.len ? gohttp2_conns_name(f->files.items[i]->conns, type) : NULL;
}

/* ---- life ---- */

void gohttp2_files_detach(struct gohttp2_files *f)
{
	if (!f)
		return;
	coop_withdraw(f->o.coop, &f->detaching);
	for (size_t i = 0; i < f->n_old; i++)
		bpf_link__destroy(f->old[i]);
	f->n_old = 0;
	for (size_t i = 0; i < f->files.len; i++)
		detach(f->files.items[i]);
}

void gohttp2_files_free(struct gohttp2_files *f)
{
	void *tgid, *process;
	size_t pos = 0;

	if (!f)
		return;
	gohttp2_files_detach(f);
	while (map_next(&f->processes, &pos, &tgid, &process))
		vec_fini(&((struct process *)process)->files);
	gohttp2_mapped_free(f->mapped);
	for (size_t i = 0; i < f->files.len; i++) {
		gohttp2_conns_free(f->files.items[i]->conns);
		free(f->files.items[i]);
	}
	vec_fini(&f->files);
	map_fini(&f->by_key);
	map_fini(&f->processes);
	cleanup_close(&f->proc_fd);
	free(f);
}

static int map_fd(struct bpf_object *obj, const char *name)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(obj, name);

	return map ? bpf_map__fd(map) : -ENOENT;
}

int gohttp2_files_new(const struct gohttp2_files_opts *o, struct gohttp2_files **ret, struct err *err)
{
	struct gohttp2_files *f = calloc(1, sizeof(*f));

	if (!f)
		return err_errno(err, -ENOMEM, "cannot create the table of programs");
	f->o = *o;
	f->detaching = (struct coop_job){ .name = "detach", .run = detach_old, .ctx = f };
	map_init(&f->by_key, sizeof(struct file_key), sizeof(struct file *));
	map_init(&f->processes, sizeof(uint32_t), sizeof(struct process));
	f->layouts_fd = map_fd(o->obj, "gohttp2_layouts");
	f->linked_fd = map_fd(o->obj, "gohttp2_linked");
	f->files_fd = map_fd(o->obj, "gohttp2_files");
	f->tgids_fd = map_fd(o->obj, "sonde_go_http2");
	f->conns_fd = map_fd(o->obj, "gohttp2_conn_types");
	f->mapped = gohttp2_mapped_new();
	f->proc_fd = open(o->proc_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (f->proc_fd < 0 || !f->mapped) {
		int r = err_errno(err, -errno, "cannot open %s", o->proc_path);

		gohttp2_files_free(f);
		return r;
	}
	*ret = f;
	return 0;
}
