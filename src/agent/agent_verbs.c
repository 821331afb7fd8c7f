// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Verbs: what a client may ask beside its stream, and who may.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent_impl.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "bus/session.h"
#include "probe/probe.h"

#define ARGS_MAX 64

struct call {
	struct agent_conn *c;
	const char *args[ARGS_MAX];	/* behind the verb */
	size_t n_args;
	struct buf *out;
};

struct verb {
	const char *name;
	uint32_t right;			/* PROTO_RIGHT_* that it takes */
	int (*run)(const struct call *call, struct err *err);
};

static int run_status(const struct call *call, struct err *err)
{
	const struct agent *a = call->c->a;

	(void)err;
	buf_printf(call->out, "pid %d, up %llu s, %u clients, %llu bytes in queues\n", (int)getpid(),
		   (unsigned long long)((clock_boot_ns() - a->start_ns) / NS_PER_S), a->n_conns,
		   (unsigned long long)fan_bytes(a->fan));
	return 0;
}

static int run_dump(const struct call *call, struct err *err)
{
	(void)call;
	return err_set(err, -EOPNOTSUPP, "this agent has no flight recorder");
}

static const struct verb verbs[] = {
	{ "status", PROTO_RIGHT_READ, run_status },
	{ "dump", PROTO_RIGHT_CONTROL, run_dump },
};

int verb_call(struct agent_conn *c, const char *verb, const struct proto_frame *f, const char *verb_at,
	      struct buf *out, struct err *err)
{
	struct call call = { .c = c, .out = out };
	size_t fixed = (size_t)(verb_at - (const char *)f->data);

	for (const char *w = proto_word(f, fixed, verb_at); w; w = proto_word(f, fixed, w)) {
		if (call.n_args == ARGS_MAX)
			return err_set(err, -E2BIG, "%s: too many arguments", verb);
		call.args[call.n_args++] = w;
	}
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(verbs[i].name, verb))
			continue;
		if ((c->rights & verbs[i].right) != verbs[i].right)
			return err_set(err, -EPERM, "%s: not permitted on this socket", verb);
		return verbs[i].run(&call, err);
	}
	return err_set(err, -ENOSYS, "%s: this agent has no such verb", verb);
}
