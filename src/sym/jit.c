// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opens the map at first sight and keeps it open, so that it survives the process and the file's deletion; text
 * appended later is read through the same descriptor.
 */
#include "sym/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/mapped_file.h"
#include "sym/module.h"

#define RETRY_NS 100000000ull	/* a process that has just started has no map yet */
#define RETRY_MAX_NS 10000000000ull

/* Any user can write to /tmp: the map must belong to the process's user or to root. */
static int owned_by(int fd, uint32_t uid)
{
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) == 0 && (st.st_uid == 0 || st.st_uid == uid))
		return fd;
	close(fd);
	return -EPERM;
}

/* Looks where the process wrote it, under the pid in its own namespace; else where an agent on the host did. */
static int open_map(const struct sym *s, const struct module *m)
{
	char path[64];
	int fd = -ENOENT;

	if (!s->o.live)
		return -ENOENT;
	if (m->ns_tgid) {
		snprintf(path, sizeof(path), "/tmp/perf-%u.map", m->ns_tgid);
		fd = owned_by(mapped_file_open_below(s->proc_fd, m->seen.key.tgid, path, true), m->uid);
	}
	if (fd < 0) {
		snprintf(path, sizeof(path), "/tmp/perf-%u.map", m->seen.key.tgid);
		fd = owned_by(mapped_file_open_at(s->root_fd, path, true), m->uid);
	}
	return fd;
}

void jit_find(struct sym *s, struct module *m)
{
	int fd = m->fd < 0 ? open_map(s, m) : -EEXIST;

	if (fd >= 0)
		sym_module_keep(s, m, fd);
}

static uint64_t size_of(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

uint64_t jit_bytes(const struct module *m)
{
	return size_of(m->fd) + size_of(m->dump_fd);
}

static void find_map(struct sym *s, struct module *m, uint64_t ts_ns)
{
	if (m->fd >= 0 || ts_ns < m->retry_ns)
		return;
	/* With growing intervals: most processes never write a map. */
	m->retry_step_ns = m->retry_step_ns ? m->retry_step_ns * 2 : RETRY_NS;
	if (m->retry_step_ns > RETRY_MAX_NS)
		m->retry_step_ns = RETRY_MAX_NS;
	m->retry_ns = ts_ns + m->retry_step_ns;
	jit_find(s, m);
}

uint32_t jit_module(struct sym *s, struct map_who *who, uint64_t ts_ns)
{
	struct module *m;

	if (!who->jit) {
		if (sym_module_new(s, SYM_JIT, "//anon", strlen("//anon"), &who->jit) < 0)
			return MODULE_ANON;
		m = sym_module_at(s, who->jit);
		m->seen.key = who->key;
		m->ns_tgid = who->ns_tgid;
		m->uid = who->uid;
	}
	m = sym_module_at(s, who->jit);
	sym_module_touch(s, m);
	find_map(s, m, ts_ns);
	return who->jit;
}

static bool is_dump(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t len;

	name = name ? name + 1 : path;
	len = strlen(name);
	return !strncmp(name, "jit-", 4) && len > 9 && !strcmp(name + len - 5, ".dump");
}

/*
 * A JIT maps its jitdump executable to make it visible (tools/perf/Documentation/jitdump-specification.txt in Linux).
 */
int jit_mapping(struct sym *s, struct map_key key, uint64_t ts_ns, uint32_t module)
{
	struct module *dump = sym_module_at(s, module), *m;
	struct map_view view;

	if (module < MODULE__FIXED || dump->fd < 0 || !is_dump(dump->pub.path))
		return 0;
	if (!maptab_find(s->maps, key, ts_ns, &view))
		return 0;
	m = sym_module_at(s, jit_module(s, view.who, ts_ns));
	if (m->dump_fd < 0)
		m->dump_fd = fcntl(dump->fd, F_DUPFD_CLOEXEC, 0);
	return 0;
}

void jit_exit(struct sym *s, struct map_key key, uint64_t ts_ns)
{
	struct map_view view;
	struct module *m;

	if (!maptab_find(s->maps, key, ts_ns, &view) || !view.who->jit)
		return;
	m = sym_module_at(s, view.who->jit);
	m->retry_ns = 0;
	find_map(s, m, ts_ns);
}
