// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/other_netns.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/str.h"
#include "base/vec.h"

#define NAMESPACES_MAX 256	/* keep a pass over all of them short */

struct netns {
	uint64_t inode, packets;
};

struct other_netns {
	VEC(struct netns) all;	/* the first is our own */
};

static uint64_t inode_of(const char *pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%.10s/ns/net", pid);
	return stat(path, &st) < 0 ? 0 : st.st_ino;
}

/* Received and sent packets: second and tenth number after the colon of a line of /proc/PID/net/dev. */
#define DEV_NUMBERS "%*u %" SCNu64 " %*u %*u %*u %*u %*u %*u %*u %" SCNu64

/* Of all interfaces. */
static uint64_t packets_of(const char *pid)
{
	_cleanup_fclose_ FILE *f = NULL;
	_cleanup_free_ char *line = NULL;
	uint64_t sum = 0, in, out;
	char path[64];
	size_t cap = 0;

	snprintf(path, sizeof(path), "/proc/%.10s/net/dev", pid);
	f = fopen(path, "re");
	while (f && getline(&line, &cap, f) > 0) {
		const char *colon = strrchr(line, ':');

		if (colon && sscanf(colon + 1, DEV_NUMBERS, &in, &out) == 2)
			sum += in + out;
	}
	return sum;
}

static const struct netns *find(const struct other_netns *o, uint64_t inode)
{
	return vec_find(it, &o->all, it->inode == inode);
}

static void add(struct other_netns *o, uint64_t inode, const char *pid)
{
	if (!inode || find(o, inode) || o->all.len == NAMESPACES_MAX || vec_grow(&o->all) < 0)
		return;
	o->all.items[o->all.len++] = (struct netns){ .inode = inode, .packets = packets_of(pid) };
}

struct other_netns *other_netns_new(void)
{
	_cleanup_free_ struct other_netns *o = calloc(1, sizeof(*o));
	_cleanup_(closedirp) DIR *dir = o ? opendir("/proc") : NULL;
	const struct dirent *e;
	uint32_t pid;

	if (!dir)
		return NULL;
	add(o, inode_of("self"), "self");
	while ((e = readdir(dir)))
		if (str_to_u32(e->d_name, 10, &pid) == 0)
			add(o, inode_of(e->d_name), e->d_name);
	return TAKE_PTR(o);
}

void other_netns_free(struct other_netns *o)
{
	if (!o)
		return;
	vec_fini(&o->all);
	free(o);
}

unsigned other_netns_busy(const struct other_netns *o)
{
	struct other_netns *now = other_netns_new();
	unsigned n = 0;

	for (size_t i = 1; now && i < now->all.len; i++) {
		const struct netns *was = find(o, now->all.items[i].inode);

		n += now->all.items[i].packets != (was ? was->packets : 0);
	}
	other_netns_free(now);
	return n;
}
