// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Formats: struct sched_attr (include/uapi/linux/sched/types.h), /proc/PID/autogroup (sched(7)).
 */
#include "cmd/haste.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define SHORT_TURN_NS 100000	/* the least that the scheduler takes */
#define SESSION "/proc/self/autogroup"
#define HIGHEST (-20)

/* The head of the kernel's struct, which libc lacks. */
struct sched_attr_head {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

void haste_process(int nice)
{
	struct sched_attr_head a = {
		.size = sizeof(a), .nice = nice ? nice : getpriority(PRIO_PROCESS, 0), .runtime_ns = SHORT_TURN_NS,
	};

	if (syscall(SYS_sched_setattr, 0, &a, 0) < 0)
		setpriority(PRIO_PROCESS, 0, a.nice);
}

/* "/autogroup-12 nice 0" */
static bool read_session(int *ret)
{
	_cleanup_fclose_ FILE *f = fopen(SESSION, "re");

	return f && fscanf(f, "/autogroup-%*d nice %d", ret) == 1;
}

static bool write_session(int nice)
{
	_cleanup_close_ int fd = open(SESSION, O_WRONLY | O_CLOEXEC);
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", nice);

	return fd >= 0 && write(fd, text, (size_t)len) == len;
}

void haste_begin(struct haste *h)
{
	if (h->raised || !read_session(&h->before) || h->before <= HIGHEST)
		return;
	h->raised = write_session(HIGHEST);
}

void haste_end(struct haste *h)
{
	if (h->raised)
		write_session(h->before);
	h->raised = false;
}
