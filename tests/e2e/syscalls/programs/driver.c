// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes one system call after the other and prints for each the line that a tracer must show: name, arguments as
 * strace writes them, result. One list: what is called and what is expected stand beside each other. As root all of
 * it is harmless: what could change the host gets arguments that are refused.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "numbers.h"

static FILE *out;

/* @text: arguments with printf directives, which take what follows the six arguments. */
static long call(const char *name, long nr, const char *text, long a, long b, long c, long d, long e, long f, ...)
{
	char line[2048];
	va_list ap;
	long r;

	errno = 0;
	r = syscall(nr, a, b, c, d, e, f);
	va_start(ap, f);
	vsnprintf(line, sizeof(line), text, ap);
	va_end(ap);
	fprintf(out, "%s(%s)\t%ld\t%d\n", name, line, r, r == -1 ? errno : 0);
	return r;
}

#define P(x) ((long)(x))
#define C0(name, text) call(#name, SYS_##name, text, 0, 0, 0, 0, 0, 0)
#define C1(name, text, a, ...) call(#name, SYS_##name, text, a, 0, 0, 0, 0, 0, ##__VA_ARGS__)
#define C2(name, text, a, b, ...) call(#name, SYS_##name, text, a, b, 0, 0, 0, 0, ##__VA_ARGS__)
#define C3(name, text, a, b, c, ...) call(#name, SYS_##name, text, a, b, c, 0, 0, 0, ##__VA_ARGS__)
#define C4(name, text, a, b, c, d, ...) call(#name, SYS_##name, text, a, b, c, d, 0, 0, ##__VA_ARGS__)
#define C5(name, text, a, b, c, d, e, ...) call(#name, SYS_##name, text, a, b, c, d, e, 0, ##__VA_ARGS__)
#define C6(name, text, a, b, c, d, e, f, ...) call(#name, SYS_##name, text, a, b, c, d, e, f, ##__VA_ARGS__)

static char dir[] = "/tmp/sd-sys-driver-XXXXXX";
#define BAD 4095	/* a page that is never mapped */

#include "files.h"
#include "memory.h"
#include "net.h"
#include "process.h"

int main(int argc, char **argv)
{
	out = fopen(argc > 1 ? argv[1] : "/dev/stdout", "we");
	if (!out || !mkdtemp(dir) || chdir(dir) < 0)
		return 1;
	do_files();
	do_memory();
	do_time();
	do_net();
	do_process();
	if (fclose(out) || chdir("/") < 0 || rmdir(dir) < 0)
		return 1;
	return 0;
}
