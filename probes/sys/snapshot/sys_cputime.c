// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/sys/snapshot/sys_cputime.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "event/params.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "scap/schema.h"
#include "sonde/scap_wire.h"

#define TURN_NS 20000000ull	/* longest turn: the ring reader waits meanwhile */

struct cputime {
	struct probe *probe;
	DIR *proc;		/* open where the last turn ended */
	struct buf rec;
};

void sys_cputime_free(struct cputime *c)
{
	if (!c)
		return;
	if (c->proc)
		closedir(c->proc);
	buf_fini(&c->rec);
	free(c);
}
DEFINE_CLEANUP(struct cputime *, sys_cputime_free)

struct cputime *sys_cputime_new(struct probe *p)
{
	_cleanup_(sys_cputime_freep) struct cputime *c = calloc(1, sizeof(*c));
	char path[PATH_MAX];

	if (!c)
		return NULL;
	snprintf(path, sizeof(path), "%s/proc", probe_env_host_root(p->env));
	c->probe = p;
	c->proc = opendir(path);
	return c->proc ? TAKE_PTR(c) : NULL;
}

/* Fields 14 and 15 of /proc/PID/stat (proc(5)), in clock ticks. The command name before them may contain any byte. */
static int read_times(struct cputime *c, const char *pid, unsigned long long *ret_user, unsigned long long *ret_sys)
{
	_cleanup_close_ int fd = -1;
	char path[64], text[1024];
	const char *p;
	ssize_t n;

	snprintf(path, sizeof(path), "%.32s/stat", pid);
	fd = openat(dirfd(c->proc), path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return -ESRCH;
	text[n] = '\0';
	p = strrchr(text, ')');
	if (!p || sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", ret_user, ret_sys) != 2)
		return -EBADMSG;
	return 0;
}

static int inject(struct cputime *c, const struct params_out *o)
{
	const struct sonde_rec head = { .type = SONDE_EV_SCAP, .instance = c->probe->instance };
	void *rec;
	int r;

	buf_reset(&c->rec);
	buf_add(&c->rec, &head, sizeof(head));
	r = params_write(o, &c->rec);
	if (r >= 0)
		r = buf_align(&c->rec, 8);
	if (r < 0)
		return r;
	rec = c->rec.data;
	return probe_env_inject(c->probe->env, rec, c->rec.len);
}

static int put_process(struct cputime *c, const char *name)
{
	unsigned long long user, sys;
	struct params_out o = { 0 };
	uint32_t pid;
	int r;

	if (str_to_u32(name, 10, &pid) < 0 || read_times(c, name, &user, &sys) < 0)
		return 0;	/* not a process, or it has exited */
	params_begin(&o, SCAP_PROCINFO_E, pid);
	params_add_u64(&o, user);
	params_add_u64(&o, sys);
	r = inject(c, &o);
	params_out_fini(&o);
	return r < 0 ? r : 0;
}

int sys_cputime_tick(struct cputime *c)
{
	const uint64_t end_ns = clock_boot_ns() + TURN_NS;
	struct dirent *d;
	int r = 0;

	while (r >= 0 && clock_boot_ns() < end_ns && (d = readdir(c->proc)))
		r = put_process(c, d->d_name);
	if (clock_boot_ns() < end_ns)
		rewinddir(c->proc);
	return r;
}
