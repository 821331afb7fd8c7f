// SPDX-License-Identifier: GPL-2.0-or-later
#include "sym/debugfile.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "elf/mapped_file.h"
#include "sym/hostfile.h"
#include "sym/symbolizer.h"

/* The @i-th item of a list separated by colons; false past the last. */
static bool nth_dir(const char *dirs, unsigned i, const char **ret, size_t *ret_len)
{
	for (; i; i--) {
		dirs = strchr(dirs, ':');
		if (!dirs)
			return false;
		dirs++;
	}
	*ret = dirs;
	*ret_len = strcspn(dirs, ":");
	return true;
}

static void add_id_path(struct buf *b, const char *dir, size_t dir_len, const struct debug_want *w)
{
	buf_add(b, dir, dir_len);
	buf_printf(b, "/.build-id/%02x/", w->id[0]);
	for (size_t i = 1; i < w->id_len; i++)
		buf_printf(b, "%02x", w->id[i]);
	buf_add_str(b, ".debug");
}

/* Beside the file, in its .debug, and below each debug directory. */
static bool add_link_path(struct buf *b, const struct sym *s, const char *path, const char *link, unsigned i)
{
	const char *slash = strrchr(path, '/'), *dir;
	size_t len;

	if (!slash || strchr(link, '/'))
		return false;
	if (i >= 2) {
		if (!nth_dir(s->o.debug_dirs, i - 2, &dir, &len))
			return false;
		buf_add(b, dir, len);
	}
	buf_add(b, path, (size_t)(slash - path));
	buf_printf(b, "/%s%s", i == 1 ? ".debug/" : "", link);
	return true;
}

/* The @i-th path, with its kind. */
static bool nth_path(struct buf *b, const struct sym *s, const struct module *m, const struct debug_want *w,
		     unsigned i, bool *ret_by_link)
{
	const char *dir;
	size_t len;
	unsigned n = 0;

	for (; w->id_len > 1 && nth_dir(s->o.debug_dirs, n, &dir, &len); n++)
		if (n == i) {
			*ret_by_link = false;
			add_id_path(b, dir, len, w);
			return true;
		}
	*ret_by_link = true;
	return w->link[0] && add_link_path(b, s, m->pub.path, w->link, i - n);
}

int debugfile_open(const struct sym *s, const struct module *m, const struct debug_want *w, unsigned i,
		   bool *ret_by_link)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	int fd;

	if (!nth_path(&b, s, m, w, i / 2, ret_by_link))
		return -ERANGE;
	if (i % 2)
		fd = hostfile_open(s, buf_str(&b));
	else if (s->proc_fd >= 0 && m->seen.key.tgid)
		fd = mapped_file_open_below(s->proc_fd, m->seen.key.tgid, buf_str(&b), false);
	else
		fd = -ENOENT;
	return fd < 0 ? -ENOENT : fd;
}
