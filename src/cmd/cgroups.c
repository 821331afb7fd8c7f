// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/cgroups.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "container/container.h"

int cgroups_mount(char *ret, size_t cap)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/mountinfo", "re");
	_cleanup_free_ char *line = NULL;
	size_t n = 0;

	if (!f)
		return -errno;
	while (getline(&line, &n, f) > 0) {
		char point[4096];

		if (!strstr(line, " - cgroup2 ") || sscanf(line, "%*s %*s %*s %*s %4095s", point) != 1)
			continue;
		if ((size_t)snprintf(ret, cap, "%s", point) >= cap)
			return -ENAMETOOLONG;
		return 0;
	}
	return -ENOENT;
}

struct search { const char *id; size_t id_len, mount_len; uint64_t *ret; size_t cap, n; };

/* Returns true if nothing below needs a visit. */
static bool visit(struct search *s, const FTSENT *e)
{
	char id[CONTAINER_ID_MAX];

	if (!container_from_cgroup(e->fts_path + s->mount_len, id) || strncmp(id, s->id, s->id_len) != 0)
		return false;
	if (s->n < s->cap)
		s->ret[s->n] = e->fts_statp->st_ino;
	s->n++;
	return true;
}

size_t cgroups_of_container(const char *id, uint64_t *ret, size_t cap)
{
	char mount[4096];
	char *const roots[] = { mount, NULL };
	struct search s = { .id = id, .id_len = strlen(id), .ret = ret, .cap = cap };
	FTSENT *e;
	FTS *tree;

	if (cgroups_mount(mount, sizeof(mount)) < 0)
		return 0;
	s.mount_len = strlen(mount);
	tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	if (!tree)
		return 0;
	while ((e = fts_read(tree)))
		if (e->fts_info == FTS_D && visit(&s, e))
			fts_set(tree, e, FTS_SKIP);
	fts_close(tree);
	return s.n <= cap ? s.n : 0;
}
