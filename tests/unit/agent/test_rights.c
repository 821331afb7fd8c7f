// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Actions that the daemon may no longer take: tried in children that dropped their rights as it does.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/access/agent_rights.h"
#include "base/err.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "base/rights.h"
#include "http/http_accept.h"

#define FAILED 200	/* exit status: rights could not be given up */

/* Exit of a child that calls @fn behind the filter: -signal, or errno of the action (0 = it succeeded). */
static int behind_filter(int (*fn)(void))
{
	struct agent_rights rights;
	struct err err;
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		if (agent_rights_keep(false, &rights, &err) < 0 || agent_rights_filter(&err) < 0)
			_exit(FAILED);
		errno = 0;
		_exit(fn() < 0 ? errno : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int do_exec(void)
{
	char *const argv[] = { (char *)"true", NULL };

	return execv("/bin/true", argv);
}

static int do_ptrace(void) { return (int)ptrace(PTRACE_TRACEME, 0, NULL, NULL); }
static int do_mount(void) { return mount("none", "/mnt", "tmpfs", 0, NULL); }
static int do_module(void) { return (int)syscall(SYS_init_module, NULL, 0L, ""); }
static int do_uring(void) { return (int)syscall(SYS_io_uring_setup, 1, NULL); }
static int do_key(void) { return (int)syscall(SYS_add_key, "user", "x", "y", 1L, 0); }
static int do_create(void) { return open("/tmp/sonde-test-rights", O_WRONLY | O_CREAT | O_CLOEXEC, 0600); }
static int do_write(void) { return open("/dev/null", O_RDWR | O_CLOEXEC); }
static int do_chmod(void) { return chmod("/tmp", 01777); }
static int do_unshare(void) { return unshare(CLONE_NEWUSER); }
static int do_setns(void) { return setns(0, CLONE_NEWNS); }
static int do_packet(void) { return socket(AF_PACKET, SOCK_RAW, 0); }
static int do_term(void) { return kill(getppid(), SIGTERM); }

static int do_execmem(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0;
}

static int do_pin(void)
{
	union bpf_attr attr = { 0 };

	return (int)syscall(SYS_bpf, BPF_OBJ_PIN, &attr, sizeof(attr));
}

static int do_read(void) { return open("/proc/self/status", O_RDONLY | O_CLOEXEC); }
static int do_unix(void) { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }

static int pair_of(int family)
{
	int fds[2];

	return socketpair(family, SOCK_STREAM | SOCK_CLOEXEC, 0, fds);
}

static int do_unix_pair(void) { return pair_of(AF_UNIX); }
static int do_tipc_pair(void) { return pair_of(AF_TIPC); }

static int do_fork(void)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(0);
	return pid < 0 || waitpid(pid, &status, 0) < 0 ? -1 : 0;
}

static void test_filter(void **state)
{
	const struct { int (*fn)(void); int want; } rows[] = {
		{ do_exec, -SIGSYS }, { do_ptrace, -SIGSYS }, { do_mount, -SIGSYS }, { do_module, -SIGSYS },
		{ do_uring, -SIGSYS }, { do_key, -SIGSYS },
		{ do_create, EPERM }, { do_write, EPERM }, { do_chmod, EPERM }, { do_unshare, EPERM },
		{ do_setns, EPERM }, { do_packet, EPERM }, { do_term, EPERM }, { do_execmem, EPERM },
		{ do_pin, EPERM }, { do_tipc_pair, EPERM },
		{ do_read, 0 }, { do_unix, 0 }, { do_unix_pair, 0 }, { do_fork, 0 },
	};

	(void)state;
	if (SANITIZED)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (behind_filter(rows[i].fn) != rows[i].want)
			fail_msg("row %zu: %d, not %d", i, behind_filter(rows[i].fn), rows[i].want);
}

/* ---- capabilities: started with rights or without, only the kept ones remain ---- */

static void check_keep(void)
{
	const uint64_t wanted = RIGHT(CAP_BPF) | RIGHT(CAP_NET_ADMIN);
	uint64_t had = rights_permitted(), was;

	if (rights_keep(wanted & had, 0) < 0 || rights_permitted() != (wanted & had) || rights_effective())
		_exit(1);
	was = rights_raise(RIGHT(CAP_BPF) | RIGHT(CAP_SYS_ADMIN));
	if (was || rights_effective() != (RIGHT(CAP_BPF) & had))
		_exit(2);
	rights_restore(was);
	_exit(rights_effective() ? 3 : rights_keep(had, had) == 0 && had & ~wanted ? 4 : 0);
}

static void test_keep(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		check_keep();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- the loop decides who may ---- */

static char told[64];

static void on_guard(void *ctx, bool raised)
{
	(void)ctx;
	strcat(told, raised ? "+" : "-");
}

static int on_plain(void *ctx, int fd, uint32_t events)
{
	char c;

	(void)events;
	assert_int_equal(read(fd, &c, 1), 1);
	strcat(told, ctx);
	return 0;
}

static void test_guard(void **state)
{
	struct loop *l = loop_new();
	struct loop_source *s;
	int client[2], ring[2];

	(void)state;
	assert_int_equal(pipe(client), 0);
	assert_int_equal(pipe(ring), 0);
	assert_int_equal(loop_add_io(l, client[0], 1, on_plain, "c", &s), 0);
	loop_set_plain(s);
	assert_int_equal(loop_add_io(l, ring[0], 1, on_plain, "r", NULL), 0);
	loop_set_guard(l, on_guard, NULL);
	assert_int_equal(write(client[1], "x", 1), 1);
	assert_int_equal(loop_once(l, 1000), 1);
	assert_string_equal(told, "-c+");	/* the caller is unchanged */
	told[0] = '\0';
	assert_int_equal(write(ring[1], "x", 1), 1);
	assert_int_equal(loop_once(l, 1000), 1);
	assert_string_equal(told, "-+r");
	loop_set_guard(l, NULL, NULL);
	loop_free(l);
	for (int i = 0; i < 2; i++) {
		close(client[i]);
		close(ring[i]);
	}
}

/* ---- answers to a scraper ---- */

static void test_host(void **state)
{
	static const char names[] = "metrics.example, box";

	(void)state;
	assert_true(http_accept_host(NULL, NULL));
	assert_true(http_accept_host("localhost", NULL));
	assert_true(http_accept_host("LocalHost:9777", NULL));
	assert_true(http_accept_host("127.0.0.1", NULL));
	assert_true(http_accept_host("10.1.2.3:80", NULL));
	assert_true(http_accept_host("[::1]:9777", NULL));
	assert_true(http_accept_host("box:1", names));
	assert_true(http_accept_host("Metrics.Example", names));
	assert_false(http_accept_host("", names));
	assert_false(http_accept_host("evil.example", names));
	assert_false(http_accept_host("localhost.evil.example", names));
	assert_false(http_accept_host("127.0.0.1.evil.example", NULL));
	assert_false(http_accept_host("[::1", NULL));
	assert_false(http_accept_host("bo", names));
	assert_false(http_accept_host("metrics.example.org", names));
}

static void test_accept(void **state)
{
	(void)state;
	assert_false(http_accept_openmetrics(NULL));
	assert_false(http_accept_openmetrics(""));
	assert_false(http_accept_openmetrics("*/*"));
	assert_false(http_accept_openmetrics("text/plain"));
	assert_true(http_accept_openmetrics("application/openmetrics-text"));
	assert_true(http_accept_openmetrics("application/openmetrics-text;version=1.0.0,text/plain;q=0.5"));
	assert_true(http_accept_openmetrics("text/plain;version=0.0.4;q=0.5, application/openmetrics-text;q=0.75"));
	assert_false(http_accept_openmetrics("text/plain;version=0.0.4, application/openmetrics-text;q=0.75"));
	assert_false(http_accept_openmetrics("application/openmetrics-text;q=0"));
	assert_false(http_accept_openmetrics("application/openmetrics-text;q=0.0"));
	assert_false(http_accept_openmetrics("application/openmetrics-text;q=0.5e10,text/plain;q=0.9"));
	assert_false(http_accept_openmetrics("application/openmetrics-textual"));
	assert_true(http_accept_openmetrics("application/openmetrics-text;q=1"));
	assert_true(http_accept_openmetrics("application/openmetrics-text;q="));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filter), cmocka_unit_test(test_keep), cmocka_unit_test(test_guard),
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_accept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
