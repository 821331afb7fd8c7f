// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Modules: the objects that locations lie in. A file has several keys: the build id or inode from events, and the
 * identity from fstat() once it is open; so a snapshot that reports an inode and a mapping that reports a build id
 * lead to the same module. Descriptors are opened at first sight; beyond a limit the least recently used are closed.
 *
 * Build ids are trusted: a file with a forged id can name the functions of the file that it imitates.
 */
#include "sym/module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "elf/mapped_file.h"
#include "sym/hostfile.h"
#include "sym/vdso.h"

enum { KEY_BUILD_ID = 1, KEY_INODE, KEY_PATH, KEY_STAT };

struct module *sym_module_at(const struct sym *s, uint32_t index)
{
	return s->modules.items[index < s->modules.len ? index : MODULE_UNKNOWN];
}

/* ---- descriptors ---- */

static void drop_fd(struct sym *s, struct module *m)
{
	close(TAKE_FD(m->fd));
	list_remove(&m->age);
	s->n_open--;
}

void sym_module_touch(struct sym *s, struct module *m)
{
	if (m->fd < 0 || s->open.prev == &m->age)
		return;
	list_remove(&m->age);
	list_add(&s->open, &m->age);
}

void sym_module_distrust(struct sym *s, struct module *m)
{
	m->wrong = true;
	if (m->fd >= 0)
		drop_fd(s, m);
}

void sym_module_keep(struct sym *s, struct module *m, int fd)
{
	if (m->fd >= 0)
		drop_fd(s, m);
	while (s->n_open >= s->max_open)
		drop_fd(s, container_of(s->open.next, struct module, age));
	m->fd = fd;
	s->n_open++;
	sym_module_touch(s, m);
}

/* The host's file at that path: accepted by build id; without one, only by inode. */
static int open_host_file(const struct sym *s, const char *path, uint64_t ino, bool has_id)
{
	const bool denied = s->o.files == SYM_FILES_NONE || (s->o.files == SYM_FILES_BY_ID && !has_id);
	_cleanup_close_ int fd = denied ? -ENOENT : hostfile_open(s, path);
	struct stat st;

	if (fd < 0)
		return fd;
	if (!has_id && (!ino || fstat(fd, &st) < 0 || st.st_ino != ino))
		return -ESTALE;
	return TAKE_FD(fd);
}

/*
 * As the process sees it; as the host does if the process is gone. *@ret_guessed: it was found by its path alone,
 * where another file may be by now, or in the host's root; only its build id tells.
 */
static int open_file(const struct sym *s, const struct seen *seen, const char *path, bool has_id, bool *ret_guessed)
{
	const struct mapped_file f = { .start = seen->start, .end = seen->end, .path = path, .ino = seen->ino };
	const bool live = s->o.live && seen->key.tgid;
	int fd = live ? mapped_file_open_range(s->proc_fd, seen->key.tgid, &f) : -ESRCH;

	*ret_guessed = fd < 0 && !seen->ino;
	if (live && fd < 0 && fd != -EINVAL)
		fd = mapped_file_open(s->proc_fd, seen->key.tgid, &f);
	return fd == -ENOENT || fd == -ESRCH ? open_host_file(s, path, seen->ino, has_id) : fd;
}

int sym_module_fd(struct sym *s, struct module *m)
{
	bool guessed;
	int fd;

	if (m->fd >= 0) {
		sym_module_touch(s, m);
		return m->fd;
	}
	if (m->wrong || m->refused)
		return -ESTALE;
	if (m->pub.kind == SYM_VDSO)
		fd = s->o.live ? vdso_open() : -ENOENT;
	else
		fd = open_file(s, &m->seen, m->pub.path, m->id_len, &guessed);
	if (fd >= 0)
		sym_module_keep(s, m, fd);
	return fd;
}

/* ---- modules ---- */

void sym_module_free(struct module *m)
{
	if (!m)
		return;
	cleanup_close(&m->fd);
	cleanup_close(&m->dump_fd);
	cleanup_close(&m->debug_fd);
	free(m->trouble);
	free(m->first_answer);
	free((char *)m->pub.path);
	free((char *)m->pub.build_id);
	free(m);
}
DEFINE_CLEANUP(struct module *, sym_module_free)

int sym_module_new(struct sym *s, enum sym_module_kind kind, const char *path, size_t len, uint32_t *ret)
{
	_cleanup_(sym_module_freep) struct module *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->fd = m->dump_fd = m->debug_fd = -1;
	m->pub.trouble = "";
	list_init(&m->age);
	m->pub.kind = kind;
	m->pub.path = strndup(path, len);
	m->pub.build_id = strdup("");
	if (!m->pub.path || !m->pub.build_id || vec_push(&s->modules, TAKE_PTR(m)) < 0)
		return -ENOMEM;
	*ret = (uint32_t)s->modules.len - 1;
	return 0;
}

static int set_build_id(struct module *m, const uint8_t *id, size_t len)
{
	char *hex;

	if (m->id_len || !len || len > sizeof(m->id))
		return 0;
	hex = malloc(2 * len + 1);
	if (!hex)
		return -ENOMEM;
	for (size_t i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	free((char *)m->pub.build_id);
	m->pub.build_id = hex;
	memcpy(m->id, id, len);
	m->id_len = (uint8_t)len;
	return 0;
}

static struct file_key key_of(const struct file_fact *f)
{
	struct file_key k = { 0 };

	if (f->id_len && f->id_len <= ELF_BUILD_ID_MAX) {
		memcpy(k.w, f->id, f->id_len);
		k.w[3] = (uint64_t)KEY_BUILD_ID << 56 | f->id_len;
	} else if (f->seen.ino) {
		k = (struct file_key){ { f->dev, f->seen.ino, f->generation, (uint64_t)KEY_INODE << 56 } };
	} else {
		k = (struct file_key){ { map_hash(f->path, f->path_len), f->path_len, 0, (uint64_t)KEY_PATH << 56 } };
	}
	return k;
}

static bool stat_key(int fd, struct file_key *ret)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	*ret = (struct file_key){ {
		st.st_dev, st.st_ino, (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec,
		(uint64_t)KEY_STAT << 56 | ((uint64_t)st.st_size & ((1ull << 56) - 1)),
	} };
	return true;
}

/* One range that covers all its executable mappings in the first process seen. */
static void widen(struct module *m, const struct file_fact *f)
{
	struct sym_module *p = &m->pub;
	uint64_t len = f->seen.end - f->seen.start;

	if (!p->limit) {
		p->start = f->seen.start;
		p->limit = f->seen.end;
		p->offset = f->off;
		return;
	}
	if (f->off < p->offset && p->start >= p->offset - f->off) {
		p->start -= p->offset - f->off;
		p->offset = f->off;
	}
	if (f->off >= p->offset && f->off - p->offset + len > p->limit - p->start)
		p->limit = p->start + (f->off - p->offset) + len;
}

/* The existing module of this file, by fstat() of its descriptor if it is @sure; else a new one. */
static int module_of_fd(struct sym *s, const struct file_fact *f, int fd, bool sure, uint32_t *ret)
{
	struct file_key k;
	uint32_t *have = NULL;
	bool known = sure && fd >= 0 && stat_key(fd, &k);
	int r;

	if (known)
		have = map_find(&s->by_file, &k);
	if (have) {
		*ret = *have;
		return 0;
	}
	r = sym_module_new(s, SYM_FILE, f->path, f->path_len, ret);
	return r < 0 || !known ? r : map_put(&s->by_file, &k, ret);
}

static int new_file(struct sym *s, const struct file_fact *f, uint32_t *ret)
{
	_cleanup_free_ char *path = strndup(f->path, f->path_len);
	_cleanup_close_ int fd = -1;
	bool guessed = true;
	struct module *m;
	int r;

	if (!path)
		return -ENOMEM;
	if (s->o.live)
		fd = open_file(s, &f->seen, path, f->id_len, &guessed);
	r = module_of_fd(s, f, fd, !guessed, ret);
	if (r < 0)
		return r;
	m = sym_module_at(s, *ret);
	if (fd >= 0 && m->fd < 0)
		sym_module_keep(s, m, TAKE_FD(fd));
	s->stats.files++;
	return 0;
}

/* The first process was gone, or the host has another file at that path: try this process. */
static void look_again(struct sym *s, struct module *m, const struct file_fact *f)
{
	_cleanup_free_ char *path = strndup(f->path, f->path_len);
	const struct mapped_file where = {
		.start = f->seen.start, .end = f->seen.end, .path = path, .ino = f->seen.ino,
	};
	int fd = path ? mapped_file_open(s->proc_fd, f->seen.key.tgid, &where) : -ENOMEM;

	if (fd < 0)
		return;
	m->wrong = false;
	sym_module_keep(s, m, fd);
}

int sym_module_of_file(struct sym *s, const struct file_fact *f, uint32_t *ret)
{
	const struct file_key k = key_of(f);
	uint32_t *have = map_find(&s->by_file, &k), index;
	struct module *m;
	int r;

	if (have) {
		index = *have;
	} else {
		r = new_file(s, f, &index) ?: map_put(&s->by_file, &k, &index);
		if (r < 0)
			return r;
	}
	m = sym_module_at(s, index);
	m->seen = f->seen;
	if (f->seen.ino) {
		m->ino = f->seen.ino;
		m->dev = f->dev;
		m->generation = f->generation;
	}
	widen(m, f);
	if (s->o.live && m->fd < 0 && s->n_open < s->max_open)
		look_again(s, m, f);
	*ret = index;
	return set_build_id(m, f->id, f->id_len);
}
