// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Formats: proc(5), /proc/PID/fdinfo of BPF maps (map_id), /proc/net/unix (flag 00010000 = listening).
 */
#include "probes/net/datapath/net_map_reader.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/str.h"

#define LINK_MAX_BYTES 64	/* "anon_inode:[perf_event]" and "socket:[4294967295]" fit */

struct holder_scan {
	uint32_t map_id;
	bool mapped;
	bool has_map, has_perf; /* of the current process */
};

/* Classifies descriptor @name of the folder @fds. */
static bool read_link(int fds, const char *name, char text[static LINK_MAX_BYTES])
{
	ssize_t n = readlinkat(fds, name, text, LINK_MAX_BYTES - 1);

	if (n <= 0)
		return false;
	text[n] = '\0';
	return true;
}

static bool is_map(pid_t pid, const char *fd, uint32_t map_id)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[64], line[128];
	unsigned id;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%.16s", (int)pid, fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "map_id: %u", &id) == 1)
			return id == map_id;
	return false;
}

/* Walks the descriptors of @pid; @fn returns true to stop. */
static void each_fd(pid_t pid, bool (*fn)(void *ctx, pid_t pid, const char *fd, const char *link), void *ctx)
{
	_cleanup_(closedirp) DIR *d = NULL;
	char path[32], link[LINK_MAX_BYTES];
	struct dirent *e;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && read_link(dirfd(d), e->d_name, link) && fn(ctx, pid, e->d_name, link))
			return;
}

static bool check_fd(void *ctx, pid_t pid, const char *fd, const char *link)
{
	struct holder_scan *s = ctx;

	if (!strcmp(link, "anon_inode:bpf-map"))
		s->has_map |= is_map(pid, fd, s->map_id);
	else if (!strcmp(link, "anon_inode:[perf_event]"))
		s->has_perf = true;
	return s->has_map && (s->has_perf || s->mapped);
}

static bool has_map_memory(pid_t pid)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[32], line[512];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "anon_inode:bpf-map"))
			return true;
	return false;
}

/* ---- its socket ---- */

struct socket_scan {
	struct net_map_reader *holder;
	const char *table;	/* /proc/PID/net/unix */
};

static bool listens(const char *table, unsigned long inode, char path[static 108])
{
	_cleanup_fclose_ FILE *f = fopen(table, "re");
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		unsigned long flags, kind, have;
		char name[108] = "";

		if (sscanf(line, "%*s %*s %*s %lx %lx %*s %lu %107s", &flags, &kind, &have, name) == 4 &&
		    have == inode && flags & 0x10000 && kind == 1 && name[0] == '/') {
			memcpy(path, name, sizeof(name));
			return true;
		}
	}
	return false;
}

static bool find_socket(void *ctx, _unused_ pid_t pid, _unused_ const char *fd, const char *link)
{
	const struct socket_scan *s = ctx;
	unsigned long inode;

	return sscanf(link, "socket:[%lu]", &inode) == 1 && listens(s->table, inode, s->holder->socket);
}

static void describe(pid_t pid, struct net_map_reader *ret)
{
	char path[32];
	const struct socket_scan s = { ret, path };
	_cleanup_fclose_ FILE *f = NULL;

	*ret = (struct net_map_reader){ .pid = pid };
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (f && fgets(ret->comm, sizeof(ret->comm), f))
		ret->comm[strcspn(ret->comm, "\n")] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/net/unix", (int)pid);
	each_fd(pid, find_socket, (void *)&s);
}

int net_map_reader_find(uint32_t map_id, bool mapped, struct net_map_reader *ret)
{
	_cleanup_(closedirp) DIR *d = opendir("/proc");
	struct dirent *e;
	uint32_t pid;

	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		struct holder_scan s = { .map_id = map_id, .mapped = mapped };

		if (str_to_u32(e->d_name, 10, &pid) < 0 || (pid_t)pid == getpid())
			continue;
		each_fd((pid_t)pid, check_fd, &s);
		if (!s.has_map || !(mapped ? has_map_memory((pid_t)pid) : s.has_perf))
			continue;
		describe((pid_t)pid, ret);
		return 1;
	}
	return 0;
}
