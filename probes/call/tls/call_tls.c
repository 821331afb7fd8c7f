// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A host maps hundreds of files. Inspected are those named like a TLS library, and those that have symbols or are
 * Go's, since such a library may be part of them; each once, its key is device and inode number. Only the former are
 * inspected while the loop waits.
 */
#include "probes/call/tls/call_tls.h"

#include <bpf/bpf.h>
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
#include "base/err.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/rights.h"
#include "base/str.h"
#include "base/vec.h"
#include "elf/mapped_file.h"
#include "event/decode.h"
#include "gobin/gobin.h"
#include "loop/coop.h"
#include "probes/call/call_wire.h"
#include "probes/call/tls/call_tls_find.h"
#include "probes/call/tls/call_tls_wire.h"
#include "sonde/wire.h"

#define FILES_MAX 65536		/* mapped files that are known; beyond it the table is cleared */
#define LINKS_MAX (2 * CALL_TLS_SITES_MAX)
#define END_BYTES 16384		/* of a file: section headers and the names before them */

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

/* A file that waits for its inspection, or, with its functions, for call_tls_host(). */
struct waiting {
	int fd;				/* owned */
	struct call_tls_found *found;	/* owned; NULL = not inspected yet */
};

struct call_tls {
	struct call_tls_opts o;
	int proc_fd, programs_fd, types_fd;
	uint32_t n_programs;	/* of Go */
	bool ended;		/* nothing is attached any more */
	VEC(struct waiting) queue, given;
	struct coop_job inspecting; /* of the queue */
	VEC(struct library *) libraries;	/* owned */
	struct map files;	/* set of struct file_key: inspected */
	struct map mapped;	/* set of struct mapped_key: looked at */
};

static const char *const names[] = { "libssl.so", "libgnutls.so" };

/* ---- attaching ---- */

/* @number: of a Go program. */
static uint64_t cookie_of(const struct call_tls_found *f, uint32_t number, size_t i)
{
	const uint64_t site = f->sites[i].fn | (uint64_t)f->library << CALL_TLS_LIB_SHIFT;

	if (f->library == CALL_SOURCE_GOTLS)
		return site | (uint64_t)number << CALL_TLS_GO_MODULE_SHIFT |
		       (uint64_t)f->sites[i].addr << CALL_TLS_GO_ADDR_SHIFT;
	return site | (uint64_t)f->random << CALL_TLS_RANDOM_SHIFT | (uint64_t)f->pointer << CALL_TLS_POINTER_SHIFT;
}

/* All sites by one link. */
static int attach_together(struct bpf_program *prog, bool at_return, struct library *l, const char *path,
			   const struct call_tls_found *f, uint32_t number)
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
		cookies[i] = cookie_of(f, number, i);
	}
	link = bpf_program__attach_uprobe_multi(prog, -1, path, NULL, &opts);
	if (!link)
		return -errno;
	l->links[l->n_links++] = link;
	return 0;
}

static int attach_each(struct bpf_program *prog, bool at_return, struct library *l, const char *path,
		       const struct call_tls_found *f, uint32_t number)
{
	/* uprobes by perf events need CAP_SYS_ADMIN */
	uint64_t _cleanup_rights_ was = rights_raise(RIGHT(CAP_SYS_ADMIN));

	for (size_t i = 0; prog && i < f->n; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, opts,
			    .bpf_cookie = cookie_of(f, number, i), .retprobe = at_return);
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

/* Returns first: an entry without its return is forgotten at the next one. */
static int attach_c(struct call_tls *t, struct library *l, const char *path, const struct call_tls_found *f)
{
	int r = attach_together(t->o.return_multi, true, l, path, f, 0);

	if (r >= 0)
		return attach_together(t->o.enter_multi, false, l, path, f, 0);
	if (r == -ENOTSUP)
		r = attach_each(t->o.return_single, true, l, path, f, 0);
	return r < 0 ? r : attach_each(t->o.enter_single, false, l, path, f, 0);
}

/* The programs find the types of a Go program by its number. */
static int publish(struct call_tls *t, const struct call_tls_found *f, uint32_t *ret_number)
{
	const uint32_t number = t->n_programs + 1;
	int r = number > UINT16_MAX ? -ENOSPC : 0;

	for (uint32_t i = 0; r >= 0 && i < f->n_types; i++) {
		const struct call_tls_go_key key = { .type = f->types[i].type, .module = number };

		r = bpf_map_update_elem(t->types_fd, &key, &f->types[i].ways, BPF_ANY) < 0 ? -errno : 0;
	}
	if (r >= 0 && bpf_map_update_elem(t->programs_fd, &number, &f->program, BPF_ANY) < 0)
		r = -errno;
	*ret_number = t->n_programs = number;
	return r;
}

static int attach_go(struct call_tls *t, struct library *l, const char *path, const struct call_tls_found *f)
{
	uint32_t number;
	int r = publish(t, f, &number);

	if (r >= 0)
		r = attach_together(t->o.go_multi, false, l, path, f, number);
	return r == -ENOTSUP ? attach_each(t->o.go_single, false, l, path, f, number) : r;
}

static int attach(struct call_tls *t, int fd, const struct call_tls_found *f)
{
	_cleanup_(library_freep) struct library *l = calloc(1, sizeof(*l));
	char path[64];
	int r;

	if (!l || vec_grow(&t->libraries) < 0)
		return -ENOMEM;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = f->library == CALL_SOURCE_GOTLS ? attach_go(t, l, path, f) : attach_c(t, l, path, f);
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

/* Files whose functions have names, and Go's. Compares bytes, parses none. */
static bool may_have_functions(int fd)
{
	static const char symtab[] = ".symtab";
	_cleanup_free_ char *end = malloc(END_BYTES);
	struct stat st;
	ssize_t n;

	if (!end || fstat(fd, &st) < 0)
		return false;
	n = pread(fd, end, END_BYTES, st.st_size > END_BYTES ? st.st_size - END_BYTES : 0);
	return (n > 0 && memmem(end, (size_t)n, symtab, sizeof(symtab))) || gobin_may_be_go(fd);
}

/* 1 if the file is new, 0 if it is known, or -errno. */
static int take_file(struct call_tls *t, int fd)
{
	struct file_key key;
	struct stat st;
	bool is_new;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -EINVAL;
	key = (struct file_key){ .dev = st.st_dev, .ino = st.st_ino };
	return map_add(&t->files, &key, &is_new) ? is_new : -ENOMEM;
}

static int inspect(struct call_tls *t, int fd)
{
	_cleanup_free_ struct call_tls_found *found = malloc(sizeof(*found));
	struct err err = { 0 };
	bool left;
	int r;

	if (!found)
		return -ENOMEM;
	left = coop_leave(t->o.coop);
	r = call_tls_find(fd, NULL, found, &err);
	coop_return(t->o.coop, left);
	if (t->ended)
		return -ECANCELED;
	return r < 0 ? r : attach(t, fd, found);
}

/* Inspects and attaches the file, unless that was done. */
static int use_file(struct call_tls *t, int fd)
{
	int r = take_file(t, fd);

	return r > 0 ? inspect(t, fd) : r;
}

static void inspect_queue(void *ctx)
{
	struct call_tls *t = ctx;

	for (size_t i = 0; i < t->queue.len; i++) {
		_cleanup_close_ int fd = TAKE_FD(t->queue.items[i].fd);

		if (!t->ended)
			inspect(t, fd);
	}
	t->queue.len = 0;
}

/* A new file: inspected on the second thread. Takes over @fd. */
static int queue_file(struct call_tls *t, int fd)
{
	int r = may_have_functions(fd) ? take_file(t, fd) : 0;

	if (r <= 0 || vec_grow(&t->queue) < 0) {
		close(fd);
		return r < 0 ? r : -ENOENT;
	}
	t->queue.items[t->queue.len++] = (struct waiting){ .fd = fd };
	if (coop_inside(t->o.coop))	/* the start waits for it */
		inspect_queue(t);
	else
		coop_submit(t->o.coop, &t->inspecting);
	return 0;
}

static void attach_given(struct call_tls *t)
{
	for (size_t i = 0; i < t->given.len; i++)
		attach(t, t->given.items[i].fd, t->given.items[i].found);
}

void call_tls_host(struct call_tls *t)
{
	static const char *const folders[] = { "/usr/lib/*", "/usr/lib64", "/usr/lib", "/lib/*" };

	attach_given(t);
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
	_cleanup_close_ int fd = -1;
	struct sonde_mmap_rec map;
	struct mapped_file where;
	struct mapped_key key;

	if (!decode_fixed(r, &map, sizeof(map)))
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
	return is_named(fd) ? use_file(t, fd) : queue_file(t, TAKE_FD(fd));
}

int call_tls_expect(struct call_tls *t, const char *name)
{
	_cleanup_close_ int fd = io_open_program(name);

	return fd < 0 ? fd : use_file(t, fd);
}

/* ---- addresses given by the user ---- */

/* "SSL_read=0x1234,...": reads it to the end. */
static int parse_addresses(const char *list, struct call_tls_given *ret, struct err *err)
{
	const char *word;
	size_t len;
	int r = 0;

	while (r >= 0 && (word = str_next_word(&list, &len))) {
		const char *equals = memchr(word, '=', len);
		char number[32];
		uint64_t addr;

		r = call_tls_find_name(word, equals ? (size_t)(equals - word) : len, err);
		if (r < 0)
			return r;
		snprintf(number, sizeof(number), "%.*s", equals ? (int)(word + len - equals - 1) : 1,
			 equals ? equals + 1 : "-");
		if (str_to_u64(number, 0, &addr) < 0 || !addr)
			return err_set(err, -EINVAL, "%.*s: expected an address, %.*s=0x1234", (int)len, word,
				       equals ? (int)(equals - word) : (int)len, word);
		ret->addrs[r] = addr;
	}
	return r;
}

static int give(struct call_tls *t, const char *path, const char *list, struct err *err)
{
	_cleanup_free_ struct call_tls_found *found = malloc(sizeof(*found));
	_cleanup_close_ int fd = -1;
	struct call_tls_given given = { 0 };
	int r = parse_addresses(list, &given, err);

	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return err_errno(err, -errno, "cannot open it");
	r = take_file(t, fd);
	if (r <= 0)
		return err_set(err, -EINVAL, r ? "not a regular file" : "named twice");
	if (!found || vec_grow(&t->given) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = call_tls_find(fd, &given, found, err);
	if (r >= 0)
		t->given.items[t->given.len++] = (struct waiting){ .fd = TAKE_FD(fd), .found = TAKE_PTR(found) };
	return r;
}

int call_tls_give(struct call_tls *t, const char *given, struct err *err)
{
	const char *colon = strrchr(given, ':');
	_cleanup_free_ char *path = colon ? strndup(given, (size_t)(colon - given)) : NULL;
	struct err why = { 0 };
	int r;

	if (!path || !*path || !colon[1])
		return err_set(err, -EINVAL, "--tls-at %s: expected FILE:SSL_read=0x1234,SSL_write=0x5678", given);
	r = give(t, path, colon + 1, &why);
	return r < 0 ? err_set(err, r == -ENOMEM ? r : -EINVAL, "--tls-at %s: %s", path, why.msg) : 0;
}

/* ---- life ---- */

static int map_fd(const struct bpf_object *obj, const char *name)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(obj, name);

	return map ? bpf_map__fd(map) : -ENOENT;
}

int call_tls_new(const struct call_tls_opts *o, struct call_tls **ret, struct err *err)
{
	struct call_tls *t = calloc(1, sizeof(*t));

	if (!t)
		return err_errno(err, -ENOMEM, "cannot create the table of TLS libraries");
	t->o = *o;
	map_init(&t->files, sizeof(struct file_key), 1);
	map_init(&t->mapped, sizeof(struct mapped_key), 1);
	t->inspecting = (struct coop_job){ .name = "TLS libraries", .run = inspect_queue, .ctx = t };
	t->programs_fd = map_fd(o->obj, "call_tls_go_programs");
	t->types_fd = map_fd(o->obj, "call_tls_go_types");
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

static void drop(struct waiting *w, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		cleanup_close(&w[i].fd);
		free(w[i].found);
	}
}

void call_tls_detach(struct call_tls *t)
{
	if (t) {
		t->ended = true;
		coop_withdraw(t->o.coop, &t->inspecting);
	}
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
	drop(t->queue.items, t->queue.len);
	drop(t->given.items, t->given.len);
	vec_fini(&t->queue);
	vec_fini(&t->given);
	vec_fini(&t->libraries);
	map_fini(&t->files);
	map_fini(&t->mapped);
	cleanup_close(&t->proc_fd);
	free(t);
}
