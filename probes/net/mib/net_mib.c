// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Losses that no packet tells: the kernel's counters of the watched network namespaces, read once per second.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/vec.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/net/mib/net_mib_table.h"
#include "probes/net/mib/net_mib_wire.h"
#include "probes/net/net_conf.h"
#include "probes/net/net_ns.h"
#include "probes/net/net_part.h"

#define SPACES_MAX 256u		/* namespaces: a reading takes some 50 us each */
#define TEXT_MAX 65536u		/* bytes of a file */

static const struct file {
	const char *path;	/* of the namespace in which it is opened, also when it is read from another one */
	size_t (*parse)(const char *text, size_t len, uint64_t values[static NET_MIB__MAX]);
} files[] = {
	{ "/proc/thread-self/net/netstat", net_mib_table_pairs },
	{ "/proc/thread-self/net/snmp", net_mib_table_pairs },
	{ "/proc/thread-self/net/snmp6", net_mib_table_lines },	/* missing without IPv6 */
};

struct space {
	int fds[ARRAY_SIZE(files)];	/* -1 = missing */
	uint32_t netns;
	uint64_t first[NET_MIB__MAX], last[NET_MIB__MAX];
};

struct net_mib_reader {
	struct probe *p;
	struct net_names *names;
	VEC(struct space *) spaces;	/* owned */
	uint64_t read_ns;		/* time of the last reading */
};

static void space_free(struct space *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		cleanup_close(&s->fds[i]);
	free(s);
}

static void close_mib(void *part)
{
	struct net_mib_reader *m = part;

	if (!m)
		return;
	for (size_t i = 0; i < m->spaces.len; i++)
		space_free(m->spaces.items[i]);
	vec_fini(&m->spaces);
	free(m);
}
DEFINE_CLEANUP(struct net_mib_reader *, close_mib)

/* ---- namespaces ---- */

static int open_files(void *ctx)
{
	struct space *s = ctx;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		s->fds[i] = open(files[i].path, O_RDONLY | O_CLOEXEC);
	return s->fds[0] < 0 ? -errno : 0;
}

static bool has(const struct net_mib_reader *m, uint32_t netns)
{
	return vec_find(it, &m->spaces, (*it)->netns == netns);
}

/* @fd: of the namespace. */
static int add(struct net_mib_reader *m, int fd)
{
	const uint32_t netns = net_ns_inode(fd);
	struct space *s;
	int r;

	if (has(m, netns))
		return 0;
	if (m->spaces.len == SPACES_MAX) {
		probe_env_note(m->p->env, "counters of losses are read in the first 256 network namespaces only");
		return -ENOSPC;
	}
	s = vec_grow(&m->spaces) < 0 ? NULL : calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		s->fds[i] = -1;
	s->netns = netns;
	r = net_ns_call(fd, open_files, s);
	if (r < 0)
		space_free(s);
	else
		m->spaces.items[m->spaces.len++] = s;
	return r;
}

/* Leaves out namespaces that end meanwhile. */
static int add_all(struct net_mib_reader *m)
{
	_cleanup_free_ uint32_t *inodes = NULL;
	size_t n = 0;
	int r = net_ns_all(&inodes, &n);

	for (size_t i = 0; r >= 0 && i < n; i++) {
		_cleanup_close_ int fd = -1;
		char text[16];

		snprintf(text, sizeof(text), "%u", inodes[i]);
		fd = net_ns_open(text, NULL);
		r = fd < 0 ? 0 : add(m, fd);
		if (r == -ENOSPC)
			return 0;
		r = r == -ENOMEM ? r : 0;
	}
	return r;
}

static int add_word(struct net_mib_reader *m, const char *text, struct err *err)
{
	_cleanup_close_ int fd = -1;
	int r;

	if (text && !strcmp(text, NET_NS_ALL)) {
		r = add_all(m);
	} else {
		fd = net_ns_open(text, err);
		if (fd < 0)
			return fd;
		r = add(m, fd);
	}
	return r < 0 && r != -ENOSPC ? err_errno(err, r, "cannot open the counters of a network namespace") : 0;
}

static int open_words(struct net_mib_reader *m, const struct opt_strv *netns, struct err *err)
{
	_cleanup_(net_ns_words_fini) struct net_ns_words words = { 0 };
	int r = netns ? net_ns_globs(netns, &words, err) : 0;

	for (size_t i = 0; r >= 0 && i < words.len; i++)
		r = add_word(m, words.items[i], err);
	return r >= 0 && !words.len ? add_word(m, NULL, err) : r;
}

/* Only a namespace that does not exist ends the run: it is the user's error. */
static int open_mib(struct net_parts *all, void **ret, struct err *err)
{
	_cleanup_(close_mibp) struct net_mib_reader *m = calloc(1, sizeof(*m));
	const struct net_conf *c = all->p->conf;
	struct err e = { 0 };
	int r;

	if (m)
		*m = (struct net_mib_reader){ .p = all->p, .names = &all->names };
	r = m ? open_words(m, c->netns, &e) : err_errno(&e, -ENOMEM, "cannot read counters of losses");
	if (r == -EINVAL) {
		*err = e;
		return r;
	}
	if (r < 0)
		probe_env_hook_failed(all->p->env, all->p->instance, "counters of losses", &e);
	else
		*ret = TAKE_PTR(m);
	return 0;
}

/* ---- readings ---- */

/* Missing counters stay 0. */
static void read_space(const struct space *s, struct buf *text, uint64_t values[static NET_MIB__MAX])
{
	memset(values, 0, NET_MIB__MAX * sizeof(*values));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		buf_reset(text);
		if (s->fds[i] >= 0 && lseek(s->fds[i], 0, SEEK_SET) == 0 &&
		    io_read_to_end(s->fds[i], TEXT_MAX, text) >= 0)
			files[i].parse(text->data, text->len, values);
	}
}

/* The first reading: what counts from here on is a loss of the run. */
static int start(void *part, _unused_ struct err *err)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	struct net_mib_reader *m = part;

	m->read_ns = clock_boot_ns();
	for (size_t i = 0; i < m->spaces.len; i++) {
		struct space *s = m->spaces.items[i];

		read_space(s, &text, s->first);
		memcpy(s->last, s->first, sizeof(s->last));
	}
	return 0;
}

static void emit(struct net_mib_reader *m, const struct space *s, enum net_mib which, uint64_t now,
		 uint64_t interval_ns)
{
	struct net_mib_rec r = {
		.hdr = { .type = NET_EV_MIB, .instance = m->p->instance },
		.count = now - s->last[which], .total = now - s->first[which], .interval_ns = interval_ns,
		.netns = s->netns,
	};

	snprintf(r.name, sizeof(r.name), "%s", net_mib_table_name(which));
	net_names_space(m->names, s->netns);
	probe_env_inject(m->p->env, &r.hdr, sizeof(r));
}

/* A record for each counter that rose; a file that cannot be read any more leaves its counters where they were. */
static void emit_all(void *part)
{
	struct net_mib_reader *m = part;
	const uint64_t now_ns = clock_boot_ns(), interval_ns = now_ns - m->read_ns;
	_cleanup_(buf_fini) struct buf text = { 0 };
	uint64_t values[NET_MIB__MAX];

	m->read_ns = now_ns;
	for (size_t i = 0; i < m->spaces.len; i++) {
		struct space *s = m->spaces.items[i];

		read_space(s, &text, values);
		for (unsigned k = 0; k < NET_MIB__MAX; k++) {
			if (values[k] <= s->last[k])
				continue;
			emit(m, s, k, values[k], interval_ns);
			s->last[k] = values[k];
		}
	}
}

const struct net_part net_mib_part = {
	.open = open_mib, .attach = start, .tick = emit_all, .finish = emit_all, .close = close_mib,
};
