// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/net/packet/net_spaces.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "probe/env.h"
#include "probes/net/net_conf.h"
#include "probes/net/net_ns.h"
#include "probes/net/net_part.h"
#include "probes/net/packet/net_netns.h"

struct net_spaces {
	struct net_parts *all;
	VEC(struct net_netns *) list;	/* owned */
};

static void hook_failed(const struct net_spaces *s, const char *hook, const struct err *err)
{
	probe_env_hook_failed(s->all->p->env, s->all->p->instance, hook, err);
}

uint32_t net_spaces_only(const struct net_spaces *s)
{
	return s && s->list.len == 1 ? net_netns_inode(s->list.items[0]) : 0;
}

void net_spaces_share_flows(const struct net_parts *all, const struct bpf_map *map)
{
	const struct net_spaces *s = all->part[NET_PART_SPACES];
	struct err e = { 0 };

	for (size_t i = 0; s && i < s->list.len; i++) {
		uint32_t netns = net_netns_inode(s->list.items[i]);
		int fd = net_netns_flows(s->list.items[i]);

		if (fd < 0 || bpf_map_update_elem(bpf_map__fd(map), &netns, &fd, BPF_ANY) >= 0)
			continue;
		err_errno(&e, -errno, "cannot pass the flow tables to the kernel");
		hook_failed(s, "drops and redirections of flows", &e);
	}
}

/* ---- open ---- */

static bool is_watched(const struct net_spaces *s, const char *text)
{
	_cleanup_close_ int fd = net_ns_open(text, NULL);
	uint32_t inode = fd < 0 ? 0 : net_ns_inode(fd);

	return inode && vec_find(it, &s->list, net_netns_inode(*it) == inode);
}

static int add_space(struct net_spaces *s, const char *text, struct err *err)
{
	int r;

	if (is_watched(s, text)) /* two arguments for one namespace */
		return 0;
	if (vec_grow(&s->list) < 0)
		return err_errno(err, -ENOMEM, "cannot watch a network namespace");
	r = net_netns_open(s->all, text, &s->list.items[s->list.len], err);
	s->list.len += r >= 0;
	return r;
}

/* Programs that do not load in one namespace; the first error counts. */
static void space_failed(struct err *first, const char *text, const struct err *err)
{
	if (first->code)
		return;
	*first = *err;
	if (text)
		err_prefix(first, "%s", text);
}

/* A namespace may end before it is opened. */
static void add_all_spaces(struct net_spaces *s, struct err *failed)
{
	_cleanup_free_ uint32_t *inodes = NULL;
	size_t n = 0;

	if (net_ns_all(&inodes, &n) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		struct err e = { 0 };
		char text[16];
		int r;

		snprintf(text, sizeof(text), "%u", inodes[i]);
		r = add_space(s, text, &e);
		if (r < 0 && r != -EINVAL)
			space_failed(failed, text, &e);
	}
}

/* A missing namespace is the user's error; programs that do not load are the kernel's. */
static int add_word(struct net_spaces *s, const char *text, struct err *failed, struct err *err)
{
	struct err e = { 0 };
	int r = 0;

	if (text && !strcmp(text, NET_NS_ALL))
		add_all_spaces(s, failed);
	else
		r = add_space(s, text, &e);
	if (r == -EINVAL && text) {
		*err = e;
		return r;
	}
	if (r < 0)
		space_failed(failed, text, &e);
	return 0;
}

static void close_spaces(void *part)
{
	struct net_spaces *s = part;

	if (!s)
		return;
	for (size_t i = 0; i < s->list.len; i++)
		net_netns_close(s->list.items[i]);
	vec_fini(&s->list);
	free(s);
}
DEFINE_CLEANUP(struct net_spaces *, close_spaces)

static int open_spaces(struct net_parts *all, void **ret, struct err *err)
{
	_cleanup_(close_spacesp) struct net_spaces *s = calloc(1, sizeof(*s));
	_cleanup_(net_ns_words_fini) struct net_ns_words words = { 0 };
	const struct net_conf *c = all->p->conf;
	struct err failed = { 0 };
	int r = c->netns ? net_ns_globs(c->netns, &words, err) : 0;

	if (!s)
		return err_errno(err, -ENOMEM, "cannot watch a network namespace");
	s->all = all;
	for (size_t i = 0; r >= 0 && i < words.len; i++)
		r = add_word(s, words.items[i], &failed, err);
	if (r >= 0 && !words.len)
		r = add_word(s, NULL, &failed, err);
	if (failed.code)
		hook_failed(s, s->list.len ? NET_HOOK_SOME : NET_HOOK_PACKETS, &failed);
	all->setup.n_spaces = s->list.len;
	if (r >= 0 && s->list.len)
		*ret = TAKE_PTR(s);
	return r;
}

/* ---- attach ---- */

/* Each interface that refuses has been reported. */
static void check_watched(const struct net_spaces *s)
{
	struct err e = { 0 };

	for (size_t i = 0; i < s->list.len; i++)
		if (!net_netns_refused(s->list.items[i]))
			return;
	err_set(&e, -EOPNOTSUPP, "no interface accepts its programs");
	hook_failed(s, NET_HOOK_PACKETS, &e);
}

/* A name without wildcards and without an interface is more often a typing error than meant for later. */
static int check_ifaces(const struct net_spaces *s, struct err *err)
{
	for (size_t i = 0; i < s->all->setup.ifaces.len; i++) {
		const char *want = s->all->setup.ifaces.items[i];
		bool found = strpbrk(want, "*?[") != NULL;

		for (size_t k = 0; k < s->list.len && !found; k++)
			found = net_netns_has(s->list.items[k], want);
		if (!found && !strcmp(want, "any"))
			return err_set(err, -EINVAL,
				       "--interface any: interface not found (without --interface all are watched)");
		if (!found)
			return err_set(err, -EINVAL,
				       "--interface %s: interface not found "
				       "(a pattern such as '%s*' also waits for later ones)",
				       want, want);
	}
	return 0;
}

static int start(void *part, struct err *err)
{
	struct net_spaces *s = part;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < s->list.len; i++)
		r = net_netns_start(s->list.items[i], err);
	if (r >= 0)
		r = check_ifaces(s, err);
	if (r >= 0)
		check_watched(s);
	return r;
}

/* ---- while it runs ---- */

static void each(struct net_spaces *s, void (*fn)(struct net_netns *s))
{
	for (size_t i = 0; i < s->list.len; i++)
		fn(s->list.items[i]);
}

static void tick(void *part)
{
	each(part, net_netns_tick);
}

static void stop(void *part)
{
	each(part, net_netns_stop);
}

static void finish(void *part)
{
	each(part, net_netns_finish);
}

const struct net_part net_spaces_part = {
	.open = open_spaces, .attach = start, .tick = tick, .detach = stop, .finish = finish, .close = close_spaces,
};
