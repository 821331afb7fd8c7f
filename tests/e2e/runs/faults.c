// SPDX-License-Identifier: GPL-2.0-or-later
/* Preloaded: the call that FAULT names fails. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static int is_faulty(const char *call)
{
	const char *fault = getenv("FAULT");

	return fault && !strcmp(fault, call);
}

struct if_nameindex *if_nameindex(void)
{
	struct if_nameindex *(*real)(void) = (struct if_nameindex *(*)(void))dlsym(RTLD_NEXT, "if_nameindex");

	if (!is_faulty("if_nameindex"))
		return real();
	errno = ENOBUFS;
	return NULL;
}

int listen(int fd, int backlog)
{
	int (*real)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "listen");

	if (!is_faulty("listen"))
		return real(fd, backlog);
	errno = EADDRINUSE;
	return -1;
}
