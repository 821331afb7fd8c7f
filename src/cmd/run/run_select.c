// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/run/run_select.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "base/vec.h"
#include "cmd/cgroups.h"
#include "cmd/run/run_conf.h"
#include "host/pids.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "event/names.h"
#include "probe/env.h"
#include "probes/net/net_ns.h"
#include "sonde/wire.h"

struct run_select {
	VEC(uint32_t) netns;
	VEC(uint64_t) cgroups;
	struct probe_select probe;
};

void run_select_free(struct run_select *s)
{
	if (!s)
		return;
	vec_fini(&s->netns);
	vec_fini(&s->cgroups);
	free(s);
}

const struct probe_select *run_select_probe(const struct run_select *s)
{
	return &s->probe;
}

static int inode_of(const char *path, uint64_t *ret)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	*ret = st.st_ino;
	return 0;
}

/* "4026531840" is an inode, "1234" a pid, "blue" a name below /run/netns, "/..." a path. */
static int resolve_netns(const char *text, uint32_t *ret, struct err *err)
{
	uint64_t n, inode = 0;
	char path[4096];
	int r;

	if (str_to_u64(text, 10, &n) == 0) {
		snprintf(path, sizeof(path), "/proc/%llu/ns/net", (unsigned long long)n);
		if (inode_of(path, &inode) < 0)
			inode = n;
		*ret = (uint32_t)inode;
		return 0;
	}
	snprintf(path, sizeof(path), "%s%s", strchr(text, '/') ? "" : "/run/netns/", text);
	r = inode_of(path, &inode);
	if (r == -ENOENT)
		return err_set(err, -EINVAL, "--netns %s: network namespace not found (no %s)", text, path);
	if (r < 0)
		return err_errno(err, r, "--netns %s: cannot read %s", text, path);
	*ret = (uint32_t)inode;
	return 0;
}

/* "all" does not select; it only chooses where to attach. */
static int resolve_spaces(const struct run_conf *c, struct run_select *s, struct err *err)
{
	_cleanup_(net_ns_words_fini) struct net_ns_words words = { 0 };
	int r = net_ns_globs(&c->netns, &words, err);

	for (size_t i = 0; r >= 0 && i < words.len; i++)
		if (!strcmp(words.items[i], NET_NS_ALL))
			return 0;
	for (size_t i = 0; r >= 0 && i < words.len; i++) {
		if (vec_grow(&s->netns) < 0)
			return err_errno(err, -ENOMEM, "cannot set up the selection");
		r = resolve_netns(words.items[i], &s->netns.items[s->netns.len++], err);
	}
	return r;
}

static int resolve_cgroup(const char *text, uint64_t *ret, struct err *err)
{
	char mount[4096], path[8448];
	int r;

	if (str_to_u64(text, 10, ret) == 0)
		return 0;
	r = cgroups_mount(mount, sizeof(mount));
	if (r < 0)
		return err_errno(err, r, "--cgroup %s: no cgroup2 file system is mounted here", text);
	snprintf(path, sizeof(path), "%s/%s", mount, text + strspn(text, "/"));
	r = inode_of(path, ret);
	if (r < 0)
		return err_set(err, -EINVAL, "--cgroup %s: no such cgroup (%s)", text, path);
	return 0;
}

static const char *host_root(const struct run_conf *c)
{
	return c->host_root ? c->host_root : "";
}

size_t run_select_live_pids(const struct run_conf *c)
{
	return pids_live(host_root(c), c->pids.items, c->pids.len);
}

static int check_pids(const struct run_conf *c, struct err *err)
{
	int r = pids_check(host_root(c), c->pids.items, c->pids.len, err);

	if (r < 0 || (!c->host_root && !pids_are_initial()))
		return r;
	for (size_t i = 0; i < c->pids.len; i++)
		if (!pids_live_one(host_root(c), c->pids.items[i]))
			log_warn("no such process: %u", c->pids.items[i]);
	return 0;
}

/* ---- from the filter ---- */

#define COMM_MAX 15 /* bytes: the kernel truncates names to this length */

struct pushing {
	const struct run_conf *conf;
	struct run_select_push *push;
};

static int push_names(const struct filter_conjunct *c, struct opt_strv *names)
{
	for (size_t i = 0; i < c->n_values; i++)
		if (!c->values[i].len || c->values[i].len > COMM_MAX)
			return 0;
	for (size_t i = 0; i < c->n_values; i++) {
		if (vec_push(names, c->values[i].text) < 0)
			return -ENOMEM;
	}
	return 1;
}

static int push_ids(const struct filter_conjunct *c, struct opt_u32v *ids)
{
	for (size_t i = 0; i < c->n_values; i++)
		if (!c->values[i].has_number || c->values[i].negative || c->values[i].number > UINT32_MAX)
			return 0;
	for (size_t i = 0; i < c->n_values; i++) {
		if (vec_push(ids, (uint32_t)c->values[i].number) < 0)
			return -ENOMEM;
	}
	return 1;
}

/* A single list of each kind. 1: the kernel decides this part, 0: user space does. */
static int push_part(void *ctx, const struct filter_conjunct *c)
{
	struct pushing *p = ctx;
	bool is_set = c->field && !c->negated && (c->op == FILTER_EQ || c->op == FILTER_IN);
	int r = 0;

	if (is_set && !strcmp(c->field, "proc.name") && !p->push->comms.len)
		r = push_names(c, &p->push->comms);
	else if (is_set && !strcmp(c->field, "proc.pid") && !p->push->pids.len && !p->conf->pids.len)
		r = push_ids(c, &p->push->pids);
	if (r == 0)
		buf_printf(&p->push->rest, "%s(%s)", p->push->rest.len ? " and " : "", c->text);
	return r < 0 ? r : buf_error(&p->push->rest);
}

int run_select_push_filter(const struct run_conf *c, const struct filter *f, struct run_select_push *ret)
{
	struct pushing p = { .conf = c, .push = ret };
	int r = filter_conjuncts(f, push_part, &p);

	return r < 0 ? r : 0;
}

void run_select_push_fini(struct run_select_push *p)
{
	vec_fini(&p->pids);
	vec_fini(&p->comms);
	buf_fini(&p->rest);
}

int run_select_resolve(const struct run_conf *c, const struct run_select_push *push, struct run_select **ret,
		       struct err *err)
{
	const struct opt_u32v *pids = c->pids.len ? &c->pids : &push->pids;
	_cleanup_(run_select_freep) struct run_select *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_errno(err, -ENOMEM, "cannot set up the selection");
	r = check_pids(c, err);
	if (r >= 0)
		r = resolve_spaces(c, s, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < c->cgroups.len; i++) {
		if (vec_grow(&s->cgroups) < 0)
			return -ENOMEM;
		r = resolve_cgroup(c->cgroups.items[i], &s->cgroups.items[s->cgroups.len++], err);
		if (r < 0)
			return r;
	}
	s->probe = (struct probe_select){
		.pids = pids->items,
		.n_pids = pids->len,
		.comms = push->comms.items,
		.n_comms = push->comms.len,
		.cgroups = s->cgroups.items,
		.n_cgroups = s->cgroups.len,
		.netns = s->netns.items,
		.n_netns = s->netns.len,
	};
	*ret = TAKE_PTR(s);
	return 0;
}

static bool match_container(const struct run_conf *c, const struct event *ev)
{
	const struct sec_proc *proc = event_proc(ev);
	const struct section *sec = event_section(ev, SEC_PROC);
	const char *id;
	size_t len;

	if (!proc)
		return false;
	id = event_sec_proc_str(proc, sec, proc->container, &len);
	for (size_t i = 0; id && i < c->containers.len; i++) {
		size_t want = strlen(c->containers.items[i]);

		if (want <= len && !memcmp(id, c->containers.items[i], want))
			return true;
	}
	return false;
}

static bool match_pid(const struct run_conf *c, const struct event *ev)
{
	return vec_find(it, &c->pids, *it == ev->tgid);
}

static bool same_path(const char *a, const char *b)
{
	return !strcmp(a + strspn(a, "/"), b + strspn(b, "/"));
}

/* In a recording, namespaces and cgroups are compared by inode, id or recorded name. */
static bool match_named(const struct opt_strv *want, const struct event *ev, uint32_t space, uint64_t key)
{
	const char *name = event_names_get(ev->names, space, key);

	for (size_t i = 0; i < want->len; i++) {
		const char *text = want->items[i];
		uint64_t n;

		if (str_to_u64(text, 10, &n) == 0 ? n == key : name && same_path(name, text))
			return true;
	}
	return false;
}

bool run_select_match(const struct run_conf *c, const struct event *ev)
{
	if (c->pids.len && !match_pid(c, ev))
		return false;
	if (c->containers.len && !match_container(c, ev))
		return false;
	if (!c->read)
		return true; /* live: the kernel has compared the rest */
	if (c->cgroups.len && !match_named(&c->cgroups, ev, SONDE_NAME_CGROUP, ev->keys.cgroup_id))
		return false;
	return !c->netns.len || match_named(&c->netns, ev, SONDE_NAME_NETNS, ev->keys.netns);
}
