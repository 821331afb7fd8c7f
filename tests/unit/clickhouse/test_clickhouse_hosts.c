// SPDX-License-Identifier: GPL-2.0-or-later
/* The hosts of a database: what a server is asked, and which of its answers become inputs. The server is a child. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "clickhouse/clickhouse_hosts.h"

#define HOSTS_MAX 3

/* Answers one request; exits with 0 if it holds @question. */
static void serve(int listener, const char *question, const char *answer)
{
	char text[4096] = "", head[128];
	size_t len = 0;
	int fd = accept(listener, NULL, NULL);

	while (len < sizeof(text) - 1 && !strstr(text, "FORMAT TSV")) {
		const ssize_t n = read(fd, text + len, sizeof(text) - 1 - len);

		if (n <= 0)
			break;
		len += (size_t)n;
	}
	snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
		 strlen(answer));
	dprintf(fd, "%s%s", head, answer);
	if (!strstr(text, question))
		fprintf(stderr, "asked: %s\n", text);
	_exit(!strstr(text, question));
}

/* Lists the hosts at "clickhouse://127.0.0.1:PORT/db@keys" of a server that gives @answer. */
static int list(const char *keys, const char *question, const char *answer, struct clickhouse_hosts *ret,
		char ret_url[static 128], struct err *err)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(sin);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), status, r;
	pid_t pid;

	assert_int_equal(bind(fd, (void *)&sin, sizeof(sin)), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (void *)&sin, &size), 0);
	snprintf(ret_url, 128, "clickhouse://127.0.0.1:%u/db%s", ntohs(sin.sin_port), keys);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		serve(fd, question, answer);
	close(fd);
	memset(ret, 0, sizeof(*ret));
	r = clickhouse_hosts_list(ret_url, HOSTS_MAX, ret, err);
	if (r == -ENOSYS) {	/* no libcurl, no client */
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		skip();
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return r;
}

static void each_host_is_an_input(void **state)
{
	struct clickhouse_hosts hosts;
	struct err err = { 0 };
	char url[128], expected[160];

	(void)state;
	assert_int_equal(list("", "FROM run WHERE 1 GROUP BY host ORDER BY host LIMIT 4 ", "a\nb.example\nc\n",
			      &hosts, url, &err), 0);
	assert_int_equal(hosts.n, 3);
	snprintf(expected, sizeof(expected), "%s?host=b.example", url);
	assert_string_equal(hosts.urls[1], expected);
	clickhouse_hosts_fini(&hosts);
	assert_int_equal(hosts.n, 0);
}

/* The keys that were given stay, the host of the answer stands last: later keys win. */
static void only_what_was_asked_for(void **state)
{
	struct clickhouse_hosts hosts;
	struct err err = { 0 };
	char url[128], expected[160];

	(void)state;
	assert_int_equal(list("?host=a,it's&run=7", "WHERE 1 AND host IN ('a', 'it\\'s') AND run = 7 GROUP", "a\n",
			      &hosts, url, &err), 0);
	assert_int_equal(hosts.n, 1);
	snprintf(expected, sizeof(expected), "%s&host=a", url);
	assert_string_equal(hosts.urls[0], expected);
	clickhouse_hosts_fini(&hosts);
}

static void other_answers_are_refused(void **state)
{
	static const struct {
		const char *answer;
		int code;
		const char *sentence;
	} cases[] = {
		{ "", -ENOENT, "the database has no such run" },
		{ "a\nb\nc\nd\n", -E2BIG, "more than 3 hosts: name some with ?host=A,B" },
		{ "a\n\nb\n", -EBADMSG, "cannot be part of a URL" },
		{ "a\nb", -EBADMSG, "cannot be part of a URL" },	/* the answer was cut */
		{ "a&spool=/tmp\n", -EBADMSG, "cannot be part of a URL" },
		{ "a?b\n", -EBADMSG, "cannot be part of a URL" },
		{ "a\\tb\n", -EBADMSG, "cannot be part of a URL" },	/* as TSV has a tabulator */
	};
	char url[128];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct clickhouse_hosts hosts;
		struct err err = { 0 };

		assert_int_equal(list("", "SELECT host FROM run", cases[i].answer, &hosts, url, &err), cases[i].code);
		assert_non_null(strstr(err.msg, cases[i].sentence));
		clickhouse_hosts_fini(&hosts);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_host_is_an_input),
		cmocka_unit_test(only_what_was_asked_for),
		cmocka_unit_test(other_answers_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
