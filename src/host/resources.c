// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Formats: /proc/PID/cgroup (cgroups(7)), memory.max and memory.current (Documentation/admin-guide/cgroup-v2.rst),
 * memory.limit_in_bytes (cgroup-v1/memory.rst), MemAvailable (proc(5)).
 */
#include "host/resources.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"

#define FILES_BASE 320		/* `sonde monitor`, the largest user, needs 297 with two CPUs */
#define FILES_PER_CPU 8
#define PATH_BYTES 4096

/* False for "max", too. */
static bool read_bytes(const char *folder, const char *name, uint64_t *ret)
{
	char path[PATH_BYTES + 64];
	_cleanup_fclose_ FILE *f = NULL;
	unsigned long long value;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%llu", &value) != 1)
		return false;
	*ret = value;
	return true;
}

static void look_at(struct memory_room *room, const char *folder, bool v2)
{
	uint64_t limit, used;

	if (!read_bytes(folder, v2 ? "memory.max" : "memory.limit_in_bytes", &limit) ||
	    !read_bytes(folder, v2 ? "memory.current" : "memory.usage_in_bytes", &used))
		return;
	limit = limit > used ? limit - used : 0;
	if (limit < room->bytes)
		*room = (struct memory_room){ .bytes = limit, .by_cgroup = true };
}

bool resources_cgroup_line(const char *line, const char **ret_path, bool *ret_v2)
{
	const char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
	size_t len;

	if (!path)
		return false;
	names++;
	len = (size_t)(path - names);
	*ret_v2 = !len && !strncmp(line, "0:", 2);
	*ret_path = path + 1;
	if (*ret_v2)
		return true;
	for (const char *p = names; p < path; p += strcspn(p, ",:") + 1)
		if (!strncmp(p, "memory", 6) && (p[6] == ',' || p[6] == ':'))
			return true;
	return false;
}

/* A limit applies to all levels below. */
static void look_at_levels(struct memory_room *room, const char *mount, const char *path, bool v2)
{
	char folder[PATH_BYTES];
	size_t root = strlen(mount);
	char *slash;

	if (snprintf(folder, sizeof(folder), "%s%s", mount, path) >= (int)sizeof(folder))
		return;
	for (;;) {
		look_at(room, folder, v2);
		slash = strrchr(folder, '/');
		if (!slash || (size_t)(slash - folder) < root)
			return;
		*slash = '\0';
	}
}

static void look_at_cgroups(struct memory_room *room)
{
	static const char *const mounts[][2] = {
		{ "/sys/fs/cgroup/memory", NULL }, { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" },
	};
	_cleanup_fclose_ FILE *f = fopen("/proc/self/cgroup", "re");
	char line[PATH_BYTES];
	const char *path;
	bool v2;

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!resources_cgroup_line(line, &path, &v2))
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(mounts[v2]) && mounts[v2][i]; i++) {
			look_at_levels(room, mounts[v2][i], path, v2);
			look_at(room, mounts[v2][i], v2);	/* the path may be the host's */
		}
	}
}

struct memory_room resources_memory(void)
{
	struct memory_room room = { .bytes = UINT64_MAX };
	_cleanup_fclose_ FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long kib;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
			room.bytes = (uint64_t)kib << 10;
	look_at_cgroups(&room);
	return room;
}

int resources_files(unsigned n_cpus, struct err *err)
{
	rlim_t need = FILES_BASE + (rlim_t)FILES_PER_CPU * n_cpus;
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) < 0 || lim.rlim_cur >= need)
		return 0;
	if (lim.rlim_max < need)
		return err_set(err, -EMFILE, "at most %llu files may be open here, and probes need %llu: "
			       "raise the limit (ulimit -Hn, LimitNOFILE=)", (unsigned long long)lim.rlim_max,
			       (unsigned long long)need);
	lim.rlim_cur = need;
	if (setrlimit(RLIMIT_NOFILE, &lim) < 0)
		return err_errno(err, -errno, "cannot raise the limit of open files");
	return 0;
}
