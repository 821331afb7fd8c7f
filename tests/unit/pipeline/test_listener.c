// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The listener that speaks Cilium's monitor protocol, over real sockets.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "pipeline/bus.h"
#include "pipeline/cilium_listener.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "cilium/gob.h"
#include "cilium/print.h"
#include "event/core.h"

struct world {
	struct loop *loop;
	struct registry *reg;
	struct bus bus;
	struct cilium_listener *listener;
	char dir[64], path[96];
	unsigned published;
};

static size_t open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void world_begin(struct world *w, const struct cilium_listener_opts *o)
{
	struct cilium_listener_opts opts = o ? *o : (struct cilium_listener_opts){ 0 };
	struct err err = { 0 };

	*w = (struct world){ .loop = loop_new(), .reg = registry_new() };
	snprintf(w->dir, sizeof(w->dir), "/tmp/sd-listener-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->path, sizeof(w->path), "%s/monitor1_2.sock", w->dir);
	opts.path = w->path;
	if (cilium_listener_new(w->loop, &w->bus, &opts, &w->listener, &err) < 0)
		fail_msg("%s", err.msg);
}

static void world_end(struct world *w)
{
	cilium_listener_free(w->listener);
	registry_free(w->reg);
	loop_free(w->loop);
	unlink(w->path);
	assert_int_equal(rmdir(w->dir), 0);
}

static void rounds(struct world *w)
{
	while (loop_once(w->loop, 0) > 0)
		;
}

static int connect_to(const struct world *w)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", w->path);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

/* A sample whose bytes begin with its number. */
static void publish(struct world *w, size_t len)
{
	struct { struct sec_notify head; uint32_t number; uint8_t rest[2000]; } sec = {
		.head = { .type = CILIUM_RECORD_SAMPLE }, .number = w->published++,
	};
	struct event ev = { .desc = &core_lost_desc };

	event_add_section(&ev, SEC_NOTIFY, &sec, (uint32_t)(sizeof(sec.head) + len));
	bus_publish(&w->bus, &ev);
}

struct heard {
	struct buf bytes;
	uint64_t samples, lost, next;
};

static void hear_payload(struct heard *h, const struct cilium_payload *p)
{
	uint32_t number;

	if (p->type == CILIUM_RECORD_LOST) {
		h->lost += p->lost;
		h->next += p->lost;
		return;
	}
	assert_int_equal(p->type, CILIUM_RECORD_SAMPLE);
	assert_true(p->len >= sizeof(number));
	memcpy(&number, p->data, sizeof(number));
	assert_int_equal(number, h->next);
	h->next++;
	h->samples++;
}

static void read_all(int fd, struct heard *h)
{
	char chunk[65536];
	ssize_t n;

	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		buf_add(&h->bytes, chunk, (size_t)n);
}

/* All that was received, starting with the type definition. */
static void decode(struct heard *h)
{
	_cleanup_(arena_fini) struct arena mem = { 0 };
	struct gob *g = gob_new();
	size_t at = 0, n;

	while (at < h->bytes.len) {
		const uint8_t *data = (const uint8_t *)h->bytes.data + at;
		struct cilium_payload p;
		struct gob_value *v;

		assert_int_equal(gob_message_len(data, h->bytes.len - at, &n), 0);
		assert_true(n && n <= h->bytes.len - at);
		assert_int_equal(gob_message(g, data, n, &mem, &v, NULL), 0);
		at += n;
		if (!v)
			continue;
		assert_int_equal(gob_get_payload(v, &p), 0);
		hear_payload(h, &p);
	}
	gob_free(g);
	buf_fini(&h->bytes);
}

static void everybody_hears_everything_once(void **state)
{
	struct heard a = { 0 }, b = { 0 };
	struct cilium_listener_stats st;
	struct world w;
	int fds[2];

	(void)state;
	world_begin(&w, NULL);
	publish(&w, 40);		/* no server is listening */
	fds[0] = connect_to(&w);
	rounds(&w);
	read_all(fds[0], &a);
	assert_int_equal(a.bytes.len, 0);	/* nothing is sent before the first event */
	publish(&w, 40);
	fds[1] = connect_to(&w);
	rounds(&w);
	for (int i = 0; i < 500; i++)
		publish(&w, 4 + (size_t)i);
	for (int i = 0; i < 20; i++) {
		rounds(&w);
		read_all(fds[0], &a);
		read_all(fds[1], &b);
	}
	a.next = 1;
	b.next = 2;
	decode(&a);
	decode(&b);
	assert_int_equal(a.samples, 501);
	assert_int_equal(b.samples, 500);
	cilium_listener_stats(w.listener, &st);
	assert_int_equal(st.clients, 2);
	assert_int_equal(st.encoded, 501);	/* once each, for any number of clients */
	assert_int_equal(st.sent, 1001);
	assert_int_equal(st.lost, 0);
	close(fds[0]);
	close(fds[1]);
	rounds(&w);
	cilium_listener_stats(w.listener, &st);
	assert_int_equal(st.clients, 0);
	assert_int_equal(st.sent, 1001);
	world_end(&w);
}

static void a_client_that_sleeps_is_told_how_much_it_lost(void **state)
{
	const struct cilium_listener_opts o = { .queue_bytes = 256 << 10, .queue_records = 1000 };
	struct heard awake = { 0 }, asleep = { 0 };
	struct world w;
	int fds[2];

	(void)state;
	world_begin(&w, &o);
	fds[0] = connect_to(&w);
	fds[1] = connect_to(&w);
	rounds(&w);
	for (int i = 0; i < 5000; i++) {
		publish(&w, 100 + (size_t)i % 900);
		if (i % 50 == 0) {
			rounds(&w);
			read_all(fds[0], &awake);
		}
	}
	for (int i = 0; i < 200; i++) {		/* now it wakes up */
		rounds(&w);
		read_all(fds[0], &awake);
		read_all(fds[1], &asleep);
	}
	decode(&awake);
	decode(&asleep);
	assert_int_equal(awake.samples, 5000);
	assert_int_equal(awake.lost, 0);
	assert_int_equal(asleep.samples + asleep.lost, 5000);
	assert_true(asleep.lost > 1000);
	assert_true(asleep.samples > 100);
	close(fds[0]);
	close(fds[1]);
	world_end(&w);
}

static void clients_come_and_go_without_a_trace(void **state)
{
	struct cilium_listener_stats st;
	struct world w;
	size_t before;

	(void)state;
	world_begin(&w, &(struct cilium_listener_opts){ .max_clients = 8 });
	before = open_fds();
	for (int i = 0; i < 300; i++) {
		int fd = connect_to(&w);

		rounds(&w);
		if (i % 3 == 0)
			publish(&w, 1000);
		if (i % 2)
			assert_int_equal(send(fd, "hello", 5, MSG_NOSIGNAL), 5);	/* no client reads it */
		close(fd);
		rounds(&w);
	}
	cilium_listener_stats(w.listener, &st);
	assert_int_equal(st.clients, 0);
	assert_int_equal(st.accepted, 300);
	assert_int_equal(open_fds(), before);
	world_end(&w);
}

static void a_limit_of_clients_holds(void **state)
{
	struct cilium_listener_stats st;
	struct world w;
	char byte;
	int fds[4];

	(void)state;
	world_begin(&w, &(struct cilium_listener_opts){ .max_clients = 3 });
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = connect_to(&w);
	rounds(&w);
	cilium_listener_stats(w.listener, &st);
	assert_int_equal(st.clients, 3);
	assert_int_equal(st.refused, 1);
	assert_int_equal(read(fds[3], &byte, 1), 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	rounds(&w);
	world_end(&w);
}

static void the_socket_belongs_to_one(void **state)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct cilium_listener_opts o = { 0 };
	struct cilium_listener *second;
	struct err err = { 0 };
	struct world w;
	struct stat st;
	int fd;

	(void)state;
	world_begin(&w, NULL);
	assert_int_equal(stat(w.path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0660);
	o.path = w.path;
	assert_int_equal(cilium_listener_new(w.loop, &w.bus, &o, &second, &err), -EADDRINUSE);
	assert_non_null(strstr(err.msg, w.path));
	assert_int_equal(access(w.path, F_OK), 0);
	cilium_listener_free(w.listener);
	assert_int_equal(access(w.path, F_OK), -1);

	/* A socket left by a killed process is taken over; a file that is not a socket is left alone. */
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", w.path);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	close(fd);
	assert_int_equal(cilium_listener_new(w.loop, &w.bus, &o, &w.listener, &err), 0);
	cilium_listener_free(w.listener);
	w.listener = NULL;
	fd = open(w.path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(cilium_listener_new(w.loop, &w.bus, &o, &second, &err), -EEXIST);
	assert_int_equal(access(w.path, F_OK), 0);
	o.path = "/proc/sd-none/monitor.sock";
	assert_int_equal(cilium_listener_new(w.loop, &w.bus, &o, &second, &err), -ENOENT);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everybody_hears_everything_once),
		cmocka_unit_test(a_client_that_sleeps_is_told_how_much_it_lost),
		cmocka_unit_test(clients_come_and_go_without_a_trace),
		cmocka_unit_test(a_limit_of_clients_holds),
		cmocka_unit_test(the_socket_belongs_to_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
