// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/net/packet/net_guard.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "probes/net/packet/net_clsact.h"

/* A message: an interface with filters, or 0 = end. */
struct guarded {
	uint32_t ifindex;
	uint32_t made;	/* the creator of the filters added the qdisc */
};

struct net_guard {
	int to;		/* the process sees the end of file when the creator is gone */
};

struct guarded_list {
	struct guarded *items;
	size_t len, cap;
};

static void sweep(const struct guarded_list *list, uint32_t creator)
{
	for (size_t i = 0; i < list->len; i++) {
		net_clsact_sweep(list->items[i].ifindex, creator);
		if (list->items[i].made)
			net_clsact_release(list->items[i].ifindex);
	}
}

_Noreturn static void run_child(uint32_t creator)
{
	struct guarded_list list = { 0 };
	struct guarded g;
	ssize_t n;

	for (;;) {
		n = TEMP_FAILURE_RETRY(read(STDIN_FILENO, &g, sizeof(g)));
		if (n == sizeof(g) && !g.ifindex)
			_exit(0);
		if (n != sizeof(g))
			break;
		vec_push(&list, g);
	}
	sweep(&list, creator);
	_exit(0);
}

/* A grandchild, which init adopts and reaps: in a session of its own, and deaf to signals that end the creator. */
static void start_child(int from)
{
	uint32_t creator = (uint32_t)getpid();
	pid_t child = fork();
	sigset_t all;

	if (!child) {
		if (fork() != 0)
			_exit(0);
		setsid();
		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, NULL);
		dup2(from, STDIN_FILENO);
		close_range(STDIN_FILENO + 1, UINT_MAX, 0);
		run_child(creator);
	}
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

struct net_guard *net_guard_start(void)
{
	_cleanup_close_ int from = -1;
	_cleanup_free_ struct net_guard *g = calloc(1, sizeof(*g));
	int fds[2];

	if (!g || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return NULL;
	from = fds[0];
	g->to = fds[1];
	start_child(from);
	return TAKE_PTR(g);
}

/* A full queue loses the interface: the next start on it removes the filters. */
static void put(const struct net_guard *g, uint32_t ifindex, bool made)
{
	const struct guarded what = { .ifindex = ifindex, .made = made };

	TEMP_FAILURE_RETRY(send(g->to, &what, sizeof(what), MSG_NOSIGNAL | MSG_DONTWAIT));
}

void net_guard_add(struct net_guard *g, uint32_t ifindex, bool made)
{
	if (g)
		put(g, ifindex, made);
}

void net_guard_end(struct net_guard *g)
{
	if (!g)
		return;
	put(g, 0, false);
	close(g->to);
	free(g);
}
