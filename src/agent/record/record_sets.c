// SPDX-License-Identifier: GPL-2.0-or-later
#include "agent/record/record_sets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "probe/probe.h"
#include "probes/net/net_wire.h"

_Static_assert(1u << NET_KIND_DROP == 2, "kinds=2 below");
_Static_assert(1u << NET_KIND_TRACE == 1, "kinds=1 below");

/*
 * Sets, a row per probe with the options of its subscriptions (sonde probes). The default set walks no stack for
 * waits: that costs at every switch.
 */
static const struct { const char *set, *probe, *options; } rows[] = {
	{ "light", "net", "kinds=2" },
	{ "light", "net", "flows:flow-level=3" },
	{ "light", "cpu", "frequency=19" },
	{ "light", "cpu", "off-cpu:min-block-time=10ms:kernel-stacks-only:kernel-depth=0" },
	{ "light", "sys", "result=unusual:slower=100ms" },
	{ "light", "gohttp2", "optional" },
	{ "normal", "net", "kinds=2" },
	{ "normal", "net", "flows:flow-level=2" },
	{ "normal", "cpu", "frequency=49" },
	{ "normal", "cpu", "off-cpu:min-block-time=1ms" },
	{ "normal", "sys", "result=unusual:slower=10ms" },
	{ "normal", "gohttp2", "optional" },
	{ "full", "net", "kinds=3:snaplen=128" },
	{ "full", "net", "flows:flow-level=2" },
	{ "full", "cpu", "frequency=49" },
	{ "full", "cpu", "off-cpu:min-block-time=1ms" },
	{ "full", "sys", "syscall=%net,read,write,readv,writev,sendto,recvfrom,sendmsg,recvmsg,sendmmsg,recvmmsg" },
	{ "full", "gohttp2", "optional" },
};

/* The commands that show a probe alone. */
static const struct { const char *command, *probe; } commands[] = {
	{ "monitor", "net" }, { "profile", "cpu" }, { "syscalls", "sys" }, { "rpc", "gohttp2" }, { "call", "call" },
};

void record_sets_fini(struct record_sets *s)
{
	vec_each(m, &s->members) {
		struct opt_set sets[] = { { .opts = m->ops->opts, .conf = m->conf },
					  { .opts = m->ops->command_opts, .conf = m->conf } };

		opt_fini(sets, m->ops->command_opts ? 2 : 1);
		free(m->conf);
		free(m->words);
	}
	vec_fini(&s->members);
}

/* "a=1:b" becomes the words --a=1 and --b. */
static int split(const char *options, size_t len, struct opt_strv *argv, char **ret_words)
{
	struct buf b = { 0 };
	size_t n = 0;

	for (size_t at = 0; at < len;) {
		const size_t part = MIN(strcspn(options + at, ":"), len - at);

		buf_printf(&b, "--%.*s%c", (int)part, options + at, 0);
		at += part + 1;
		n++;
	}
	if (buf_add_char(&b, '\0') < 0)
		return -ENOMEM;
	*ret_words = b.data;
	for (char *at = b.data; n; n--, at += strlen(at) + 1) {
		if (vec_push(argv, at) < 0)
			return -ENOMEM;
	}
	return 0;
}

static const char *row_of(const struct record_sets *s)
{
	return s->row ? s->row : "--set";
}

static int parse(const struct record_sets *s, struct record_member *m, const char *options, size_t len,
		 struct err *err)
{
	struct opt_set sets[] = { { .opts = m->ops->opts, .conf = m->conf },
				  { .opts = m->ops->command_opts, .conf = m->conf } };
	struct opt_strv argv = { 0 }, rest = { 0 };
	int r = vec_grow(&argv);

	if (r >= 0) {
		argv.items[argv.len++] = m->ops->name;
		r = split(options, len, &argv, &m->words);
	}
	if (r >= 0)
		r = opt_parse(sets, m->ops->command_opts ? 2 : 1, (int)argv.len, (char **)argv.items, &rest, NULL,
			      err);
	else
		err_errno(err, r, "cannot take %s", row_of(s));
	opt_strv_fini(&argv);
	opt_strv_fini(&rest);
	return r < 0 ? err_prefix(err, "%s %s", row_of(s), m->ops->name) : 0;
}

static int add(struct record_sets *s, const struct probe_ops *ops, const char *options, size_t len, struct err *err)
{
	const void *base = ops->conf_base ? ops->conf_base : ops->conf_default;
	struct record_member *m;

	if (vec_grow(&s->members) < 0)
		return err_errno(err, -ENOMEM, "cannot take %s", row_of(s));
	m = &s->members.items[s->members.len++];
	*m = (struct record_member){ .ops = ops, .conf = calloc(1, ops->conf_size), .plain = !len };
	if (!m->conf)
		return err_errno(err, -ENOMEM, "cannot take %s", row_of(s));
	if (base)
		memcpy(m->conf, base, ops->conf_size);
	return parse(s, m, options, len, err);
}

/* 1 if @name is a set, 0 if it is none. */
static int add_set(struct record_sets *s, const char *name, size_t len, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(rows); i++) {
		if (!str_is(name, len, rows[i].set))
			continue;
		r = add(s, probe_find(rows[i].probe), rows[i].options, strlen(rows[i].options), err);
		r = r < 0 ? r : 1;
	}
	if (r > 0)
		s->memory |= str_is(name, len, "full");
	return r;
}

static const struct probe_ops *find_probe(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (str_is(name, len, commands[i].command) || str_is(name, len, commands[i].probe))
			return probe_find(commands[i].probe);
	return NULL;
}

int record_sets_add(struct record_sets *s, const char *list, struct err *err)
{
	int r = 0;

	while (r >= 0 && *list) {
		const size_t len = strcspn(list, ","), name = MIN(strcspn(list, ":"), len);
		const struct probe_ops *ops = find_probe(list, name);

		r = ops ? add(s, ops, list + name + (name < len), len - name - (name < len), err) :
			  add_set(s, list, len, err);
		if (r == 0 && !ops)
			r = err_set(err, -EINVAL,
				    "%s %.*s: expected light, normal, full, or net, cpu, sys, gohttp2 or call "
				    "with options (net:kinds=2), separated by commas",
				    row_of(s), (int)MIN(len, (size_t)64), list);
		list += len + (list[len] == ',');
	}
	return r < 0 ? r : 0;
}

static int put_member(const struct record_member *m, struct buf *out)
{
	_cleanup_(buf_fini) struct buf words = { 0 };
	const struct opt_set sets[] = { { .opts = m->ops->opts, .conf = m->conf },
					{ .opts = m->ops->command_opts, .conf = m->conf } };
	int r = opt_words(sets, m->ops->command_opts ? 2 : 1, m->ops->conf_base, &words);

	buf_printf(out, "probe=%s%c", m->ops->name, 0);
	for (const char *p = words.data; p && p < words.data + words.len; p += strlen(p) + 1)
		buf_printf(out, "option=%s%c", p, 0);
	return r;
}

int record_sets_words(const struct record_sets *s, struct buf *out, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < s->members.len; i++) {
		r = put_member(&s->members.items[i], out);
		if (r < 0)
			err_errno(err, r, "the options of probe %s cannot be recorded by an agent",
				  s->members.items[i].ops->name);
	}
	return r >= 0 && buf_error(out) ? err_errno(err, buf_error(out), "cannot take %s", row_of(s)) : r;
}
