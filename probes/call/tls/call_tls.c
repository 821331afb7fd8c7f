// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A host maps hundreds of files. Only those named like a TLS library are inspected, each once; its key is device and
 * inode number.
 */
#include "probes/call/tls/call_tls.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/rights.h"
#include "base/vec.h"
#include "elf/mapped_file.h"
#include "loop/coop.h"
#include "probes/call/tls/call_tls_find.h"
#include "probes/call/tls/call_tls_wire.h"
#include "sonde/wire.h"

#define FILES_MAX 65536		/* mapped files that are known; beyond it the table is cleared */
#define LINKS_MAX (2 * CALL_TLS_SITES_MAX)

struct library {
	struct bpf_link *links[LINKS_MAX]; /* owned; two with uprobe.multi */
	size_t n_links;
};

struct file_key {
	uint64_t dev, ino;
};

/* As the record of a mapping identifies it: the kernel reports a build id in place of the inode if there is one. */
struct mapped_key {
	uint64_t ino;
	uint32_t dev, generation;
	uint8_t build_id[20];
	uint32_t build_id_len;
};

struct call_tls {
	struct call_tls_opts o;
	int proc_fd;
	VEC(struct library *) libraries;	/* owned */
	struct map files;	/* set of struct file_key: inspected */
	struct map mapped;	/* set of struct mapped_key: looked at */
};

static const char *const names[] = { "libssl.so", "libgnutls.so" };

/* ---- attaching ---- */

static uint64_t cookie_of(const struct call_tls_found *f, size_t i)
{
	return f->sites[i].fn | (uint64_t)f->library << CALL_TLS_LIB_SHIFT |
	       (uint64_t)f->random << CALL_TLS_RANDOM_SHIFT;
}

/* All sites by one link. */
static int attach_together(struct bpf_program *prog, bool at_return, struct library *l, const char *path,
			   const struct call_tls_found *f)
{
	unsigned long offsets[CALL_TLS_SITES_MAX];
	unsigned long long cookies[CALL_TLS_SITES_MAX];	/* libbpf's __u64 */
	LIBBPF_OPTS(bpf_uprobe_multi_opts, opts, .offsets = offsets, .cookies = cookies, .cnt = f->n,
		    .retprobe = at_return);
	struct bpf_link *link;

	if (!prog)
		return -ENOTSUP;
	for (size_t i = 0; i < f->n; i++) {
		offsets[i] = f->sites[i].file_off;
		cookies[i] = cookie_of(f, i);
	}
	link = bpf_program__attach_uprobe_multi(prog, -1, path, NULL, &opts);
	if (!link)
		return -errno;
	l->links[l->n_links++] = link;
	return 0;
}

static int attach_each(struct bpf_program *prog, bool at_return, struct library *l, const char *path,
		       const struct call_tls_found *f)
{
	/* uprobes by perf events need CAP_SYS_ADMIN */
	uint64_t _cleanup_rights_ was = rights_raise(RIGHT(CAP_SYS_ADMIN));

	for (size_t i = 0; prog && i < f->n; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = cookie_of(f, i), .retprobe = at_return);
		struct bpf_link *link = bpf_program__attach_uprobe_opts(prog, -1, path, f->sites[i].file_off, &opts);

		if (!link)
			return -errno;
		l->links[l->n_links++] = link;
	}
	return prog ? 0 : -ENOTSUP;
}

static void library_free(struct library *l)
{
	for (size_t i = 0; l && i < l->n_links; i++)
		bpf_link__destroy(l->links[i]);
	free(l);
}
DEFINE_CLEANUP(struct library *, library_free)

static int attach(struct call_tls *t, int fd, const struct call_tls_found *f)
{
	_cleanup_(library_freep) struct library *l = calloc(1, sizeof(*l));
	char path[64];
	int r;

	if (!l || vec_grow(&t->libraries) < 0)
		return -ENOMEM;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	/* returns first: an entry without its return is forgotten at the next one */
	r = attach_together(t->o.return_multi, true, l, path, f);
	if (r >= 0)
		r = attach_together(t->o.enter_multi, false, l, path, f);
	else if (r == -ENOTSUP)
		r = attach_each(t->o.return_single, true, l, path, f);
	if (r >= 0 && !t->o.enter_multi)
		r = attach_each(t->o.enter_single, false, l, path, f);
	if (r < 0)
		return r;
	t->libraries.items[t->libraries.len++] = TAKE_PTR(l);
	return 0;
}

/* ---- files ---- */

static bool is_named(int fd)
{
	char link[32], path[4096];
	const char *base;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return false;
	path[n] = 0;
	base = strrchr(path, '/');
	base = base ? base + 1 : path;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(base, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Inspects and attaches the file, unless that was done. */
static int use_file(struct call_tls *t, int fd)
{
	struct call_tls_found found;
	struct err err = { 0 };
	struct file_key key;
	struct stat st;
	bool is_new, left;
	int r;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -EINVAL;
	key = (struct file_key){ .dev = st.st_dev, .ino = st.st_ino };
	if (!map_add(&t->files, &key, &is_new))
		return -ENOMEM;
	if (!is_new)
		return 0;
	left = coop_leave(t->o.coop);
	r = call_tls_find(fd, &found, &err);
	coop_return(t->o.coop, left);
	return r < 0 ? r : attach(t, fd, &found);
}

void call_tls_host(struct call_tls *t)
{
	static const char *const folders[] = { "/usr/lib/*", "/usr/lib64", "/usr/lib", "/lib/*" };

	for (size_t i = 0; i < ARRAY_SIZE(folders) * ARRAY_SIZE(names); i++) {
		char pattern[64];
		glob_t g = { 0 };

		snprintf(pattern, sizeof(pattern), "%s/%s.*", folders[i / ARRAY_SIZE(names)],
			 names[i % ARRAY_SIZE(names)]);
		glob(pattern, GLOB_NOSORT, NULL, &g);
		for (size_t at = 0; at < g.gl_pathc; at++) {
			_cleanup_close_ int fd = open(g.gl_pathv[at], O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

			if (fd >= 0)
				use_file(t, fd);
		}
		globfree(&g);
	}
}

/* False if the record does not identify the file. */
static bool key_of(const struct sonde_mmap_rec *r, struct mapped_key *ret)
{
	*ret = (struct mapped_key){ .ino = r->ino, .dev = r->dev, .generation = r->ino_generation };
	ret->build_id_len = MIN(r->build_id_len, (uint8_t)sizeof(ret->build_id));
	memcpy(ret->build_id, r->build_id, ret->build_id_len);
	return ret->ino || ret->build_id_len;
}

int call_tls_mapping(struct call_tls *t, const struct sonde_rec *r)
{
	struct cursor c = cur_init(r, r->len);
	_cleanup_close_ int fd = -1;
	struct sonde_mmap_rec map;
	struct mapped_file where;
	struct mapped_key key;

	if (!cur_copy(&c, &map, sizeof(map)))
		return -EBADMSG;
	if (!key_of(&map, &key) || map_find(&t->mapped, &key))
		return -ENOENT;
	where = (struct mapped_file){ .start = map.addr, .end = map.addr + map.len, .ino = map.ino };
	fd = mapped_file_open(t->proc_fd, map.hdr.tgid, &where);
	if (fd < 0)
		return fd;
	if (t->mapped.len >= FILES_MAX)
		map_clear(&t->mapped);
	map_add(&t->mapped, &key, NULL);
	return is_named(fd) ? use_file(t, fd) : -ENOENT;
}

/* ---- life ---- */

int call_tls_new(const struct call_tls_opts *o, struct call_tls **ret, struct err *err)
{
	struct call_tls *t = calloc(1, sizeof(*t));

	if (!t)
		return err_errno(err, -ENOMEM, "cannot create the table of TLS libraries");
	t->o = *o;
	map_init(&t->files, sizeof(struct file_key), 1);
	map_init(&t->mapped, sizeof(struct mapped_key), 1);
	t->proc_fd = open(o->proc_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	t->o.proc_path = NULL;
	if (t->proc_fd < 0) {
		int r = err_errno(err, -errno, "cannot open %s", o->proc_path);

		call_tls_free(t);
		return r;
	}
	*ret = t;
	return 0;
}

void call_tls_detach(struct call_tls *t)
{
	for (size_t i = 0; t && i < t->libraries.len; i++)
		library_free(t->libraries.items[i]);
	if (t)
		t->libraries.len = 0;
}

void call_tls_free(struct call_tls *t)
{
	if (!t)
		return;
	call_tls_detach(t);
	vec_fini(&t->libraries);
	map_fini(&t->files);
	map_fini(&t->mapped);
	cleanup_close(&t->proc_fd);
	free(t);
}
