// SPDX-License-Identifier: GPL-2.0-or-later
/* Parser of subscription requests: null-terminated KEY=VALUE strings. */
#include "agent/agent_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/macros.h"
#include "ipc/proto.h"
#include "probe/probe.h"
#include "sonde/wire.h"

void agent_request_fini(struct agent_request *q)
{
	for (size_t i = 0; i < q->probes.len; i++)
		vec_fini(&q->probes.items[i].args);
	vec_fini(&q->probes);
	opt_strv_fini(&q->pids);
	opt_strv_fini(&q->comms);
	opt_strv_fini(&q->cgroups);
	opt_strv_fini(&q->netns);
	opt_strv_fini(&q->netns_inodes);
	free(q->text);
	*q = (struct agent_request){ 0 };
}

int agent_request_add_text(struct opt_strv *v, const char *text)
{
	return vec_push(v, text);
}

int agent_request_add_arg(struct probe_request *w, char *text)
{
	return vec_push(&w->args, text);
}

static int add_probe(struct agent_request *q, char *name, struct err *err)
{
	const struct probe_ops *ops = probe_find(name);
	struct probe_request *w;

	if (!ops || !strcmp(name, "proc"))
		return err_set(err, -EINVAL, "%s: no such probe", name);
	if (q->probes.len >= SONDE_INSTANCES - 1)
		return err_set(err, -E2BIG, "too many probes in one subscription");
	if (vec_push(&q->probes, (struct probe_request){ .ops = ops }) < 0)
		return -ENOMEM;
	w = &q->probes.items[q->probes.len - 1];
	return agent_request_add_arg(w, name);
}

static int add_option(struct agent_request *q, char *text, struct err *err)
{
	if (!q->probes.len)
		return err_set(err, -EINVAL, "option= must follow its probe=");
	return agent_request_add_arg(&q->probes.items[q->probes.len - 1], text);
}

/* Takes one "key=value". */
static int take_pair(struct agent_request *q, char *pair, struct err *err)
{
	const struct {
		const char *key;
		struct opt_strv *list;
	} lists[] = {
		{ "pid", &q->pids },
		{ "comm", &q->comms },
		{ "cgroup", &q->cgroups },
		{ "netns", &q->netns },
		{ "netns-inode", &q->netns_inodes },
	};
	char *value = strchr(pair, '=');

	if (!value)
		return err_set(err, -EINVAL, "%s: a subscription consists of KEY=VALUE strings", pair);
	*value++ = '\0';
	if (!strcmp(pair, "probe"))
		return add_probe(q, value, err);
	if (!strcmp(pair, "option"))
		return add_option(q, value, err);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (!strcmp(pair, lists[i].key))
			return agent_request_add_text(lists[i].list, value);
	if (!strcmp(pair, "where"))
		q->where = value;
	else if (!strcmp(pair, "fields"))
		q->fields = *value ? value : NULL;
	else if (!strcmp(pair, "exclude"))
		q->exclude_self = !strcmp(value, "self");
	else
		return err_set(err, -EINVAL, "%s: unknown key of a subscription", pair);
	return 0;
}

int agent_request_parse(const struct proto_frame *f, struct agent_request *ret, struct err *err)
{
	struct agent_request q = { .text = calloc(1, f->len + 1), .bytes = f->len };
	int r = q.text ? 0 : -ENOMEM;
	char *pair = q.text;

	if (q.text)
		memcpy(q.text, f->data, f->len);
	while (r >= 0 && pair < q.text + f->len) {
		size_t len = strlen(pair);

		r = take_pair(&q, pair, err);
		pair += len + 1;
	}
	if (r == -ENOMEM)
		err_errno(err, r, "cannot start the subscription");
	if (r < 0)
		agent_request_fini(&q);
	else
		*ret = q;
	return r;
}
