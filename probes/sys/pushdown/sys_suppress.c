// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/sys/pushdown/sys_suppress.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/vec.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/sys/sys_conf.h"

#define COMM_BYTES 16

void sys_suppress_configure(const struct sys_conf *c, struct bpf_object *obj)
{
	const bool any = c->suppress.len > 0;

	probe_rodata_set(obj, "sys_suppress", &any, sizeof(any));
	bpf_map__set_max_entries(bpf_object__find_map_by_name(obj, "sys_suppressed"),
				 MAX((uint32_t)c->suppress.len, 1u));
}

int sys_suppress_fill(const struct sys_conf *c, const struct bpf_object *obj)
{
	int fd = bpf_object__find_map_fd_by_name(obj, "sys_suppressed");
	const uint8_t one = 1;

	for (size_t i = 0; i < c->suppress.len; i++) {
		char comm[COMM_BYTES] = { 0 };

		snprintf(comm, sizeof(comm), "%s", c->suppress.items[i]);
		if (bpf_map_update_elem(fd, comm, &one, BPF_ANY) < 0)
			return -errno;
	}
	return 0;
}

uint64_t sys_suppress_count(const struct bpf_object *obj, unsigned n_cpus)
{
	_cleanup_free_ uint64_t *each = calloc(n_cpus, sizeof(*each));
	int fd = bpf_object__find_map_fd_by_name(obj, "sys_suppressed_n");
	const uint32_t zero = 0;
	uint64_t sum = 0;

	if (!each || bpf_map_lookup_elem(fd, &zero, each) < 0)
		return 0;
	for (unsigned i = 0; i < n_cpus; i++)
		sum += each[i];
	return sum;
}

static bool has_name(const struct sys_conf *c, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char comm[COMM_BYTES + 2] = { 0 };
	ssize_t n = fd < 0 ? 0 : read(fd, comm, sizeof(comm) - 1);

	if (n <= 0)
		return false;
	comm[strcspn(comm, "\n")] = '\0';
	return vec_find(it, &c->suppress, !strncmp(*it, comm, COMM_BYTES - 1));
}

static uint64_t count_tasks(const struct sys_conf *c, const char *dir_path)
{
	_cleanup_(closedirp) DIR *dir = opendir(dir_path);
	struct dirent *e;
	uint64_t n = 0;
	char path[512];

	while (dir && (e = readdir(dir))) {
		if (*e->d_name < '0' || *e->d_name > '9')
			continue;
		snprintf(path, sizeof(path), "%.400s/%.32s/comm", dir_path, e->d_name);
		n += has_name(c, path);
	}
	return n;
}

uint64_t sys_suppress_threads(const struct sys_conf *c, const struct probe *p)
{
	_cleanup_(closedirp) DIR *dir = NULL;
	char root[256], path[512];
	struct dirent *e;
	uint64_t n = 0;

	snprintf(root, sizeof(root), "%.240s/proc", probe_env_host_root(p->env));
	dir = c->suppress.len ? opendir(root) : NULL;
	while (dir && (e = readdir(dir))) {
		if (*e->d_name < '0' || *e->d_name > '9')
			continue;
		snprintf(path, sizeof(path), "%s/%.32s/task", root, e->d_name);
		n += count_tasks(c, path);
	}
	return n;
}
