// SPDX-License-Identifier: GPL-2.0-or-later
/* The proc probe's decoder: records built here, byte for byte, to events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event_words.h"

#define PROBE_ID 1
#include "probes/proc/proc_wire.h"

extern const struct decoder_ops proc_decoder;
static const struct decoder_ops *const decoders[] = { &proc_decoder, NULL };

/* The words of the last event, and how many there were. */
struct seen {
	unsigned n;
	struct event_words text;
	uint32_t tgid, tid, netns;
	uint64_t cookie, cgroup_id, image;
	struct sec_state fact;
};

static int take(void *ctx, struct event *ev)
{
	struct seen *s = ctx;

	assert_non_null(event_state(ev));
	s->fact = *event_state(ev);

	s->n++;
	s->tgid = ev->tgid;
	s->tid = ev->tid;
	s->netns = ev->keys.netns;
	s->cookie = ev->keys.cookie;
	s->cgroup_id = ev->keys.cgroup_id;
	s->image = ev->keys.image;
	event_words_take(&s->text, ev);
	return 0;
}

static int decode(struct seen *s, const void *rec, size_t len)
{
	return decode_alone(decoders, rec, len, take, s);
}

struct exec_full { struct proc_exec_rec rec; char tail[1600]; };

/* An exec record with these three strings; lengths of literals with their inner NULs. */
static size_t exec_record(struct exec_full *e, const char *name, size_t name_len, uint8_t form, const char *path,
			  size_t path_len, const char *args, size_t args_len)
{
	*e = (struct exec_full){
		.rec.hdr = { .ts_ns = 5, .type = PROC_REC_EXEC, .flags = SONDE_RF_IDENT, .tgid = 77, .tid = 77,
			     .start_ns = 3 },
		.rec.who = { .cgroup_id = 9, .ppid = 70, .uid = 1000, .gid = 100, .netns = 4, .comm = "prog" },
		.rec.id = { .image = 12 },
		.rec.name_len = (uint16_t)name_len, .rec.path_len = (uint16_t)path_len,
		.rec.args_len = (uint16_t)args_len, .rec.path_form = form, .rec.old_tid = 78,
	};
	memcpy(e->tail, name, name_len);
	memcpy(e->tail + name_len, path, path_len);
	memcpy(e->tail + name_len + path_len, args, args_len);
	e->rec.hdr.len = (uint32_t)(sizeof(e->rec) + name_len + path_len + args_len);
	return e->rec.hdr.len;
}

#define TEXT(s) (s), sizeof(s)	/* with its NUL, as the kernel writes them */

static void an_exec_says_program_and_arguments(void **state)
{
	struct seen s = { 0 };
	struct exec_full e;
	size_t len = exec_record(&e, TEXT("./x.sh"), PROC_PATH_PARTS, TEXT("dash\0bin\0usr"),
				 TEXT("/bin/sh\0./x.sh\0a b"));

	(void)state;
	assert_int_equal(decode(&s, &e, len), 0);
	assert_int_equal(s.n, 1);
	has_word(&s.text, "task.file=./x.sh ");
	has_word(&s.text, "task.exe=/usr/bin/dash ");
	has_word(&s.text, "task.args=/bin/sh ./x.sh a b ");
	has_word(&s.text, "task.comm=prog ");
	has_word(&s.text, "task.ppid=70 task.uid=1000 task.gid=100 ");
	has_word(&s.text, "task.old_tid=78 ");
	assert_int_equal(s.tgid, 77);
	assert_int_equal(s.netns, 4);
	assert_int_equal(s.cgroup_id, 9);
	assert_int_equal(s.image, 12);
	assert_string_equal(buf_str(&s.text.line), "prog[77] exec /usr/bin/dash: /bin/sh ./x.sh a b "
			    "(ppid 70 uid 1000 gid 100 pidns 0 netns 4 cgroup 9)\n");
	event_words_fini(&s.text);
}

/* The fact of an exec, whole and cut. */
static int take_exec(void *ctx, struct event *ev)
{
	const struct sec_task *t = (const void *)event_state(ev);
	struct event cut = *ev;

	(void)ctx;
	assert_non_null(t);
	assert_int_equal(t->head.kind, SEC_STATE_EXEC);
	assert_int_equal(t->ppid, 70);
	assert_string_equal(t->comm, "prog");
	assert_memory_equal(event_state_text(ev, t->exe), "/usr/bin/dash", t->exe.len);
	assert_memory_equal(event_state_text(ev, t->args), "/bin/sh x", t->args.len);
	assert_null(event_state_text(ev, (struct sec_str){ .off = t->args.off, .len = t->args.len + 1 }));
	assert_null(event_state_text(ev, (struct sec_str){ .off = UINT32_MAX, .len = 1 }));
	assert_null(event_state_text(ev, (struct sec_str){ .off = 0, .len = 0 }));
	cut.sec[0].len = sizeof(*t) - 1;
	assert_null(event_state(&cut));
	return 0;
}

static void an_exec_is_a_fact(void **state)
{
	struct exec_full e;
	size_t len = exec_record(&e, TEXT("x"), PROC_PATH_PARTS, TEXT("dash\0bin\0usr"), TEXT("/bin/sh\0x"));

	(void)state;
	assert_int_equal(decode_alone(decoders, &e, len, take_exec, NULL), 0);
}

static void a_task_may_have_ended(void **state)
{
	struct seen s = { 0 };
	struct exec_full e;
	size_t len = exec_record(&e, "", 0, PROC_PATH_PLAIN, TEXT("/bin/x"), TEXT("x\0a"));

	(void)state;
	e.rec.hdr.type = PROC_REC_TASK;
	e.rec.ended = 1;
	assert_int_equal(decode(&s, &e, len), 0);
	has_word(&s.text, "task.ended=true ");
	assert_string_equal(buf_str(&s.text.line), "prog[77] task ended /bin/x: x a "
			    "(ppid 70 uid 1000 gid 100 pidns 0 netns 4 cgroup 9)\n");
	event_words_fini(&s.text);
}

static void paths_come_in_every_form(void **state)
{
	static const struct { const char *parts; size_t len; uint8_t form; const char *want; } cases[] = {
		{ TEXT("c\0b\0a"), PROC_PATH_PARTS, "task.exe=/a/b/c " },
		{ TEXT("init"), PROC_PATH_PARTS, "task.exe=/init " },
		{ "c\0b\0a", 5, PROC_PATH_PARTS, "task.exe=/a/b/c " },		/* the last NUL is missing */
		{ "", 0, PROC_PATH_PARTS, NULL },				/* a kernel thread has none */
		{ TEXT("memfd:code"), PROC_PATH_ROOTLESS, "task.exe=memfd:code " },
		{ TEXT("c\0b"), PROC_PATH_ROOTLESS, "task.exe=.../b/c " },	/* too deep to walk */
		{ "/plain/text", 11, PROC_PATH_PLAIN, "task.exe=/plain/text " },
		{ TEXT("\xff\n\0x"), PROC_PATH_PARTS, "task.exe=/x/\\xff\\n " },
		{ "\0\0\0", 3, PROC_PATH_PARTS, "task.exe=/// " },	/* no kernel makes this */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct seen s = { 0 };
		struct exec_full e;
		size_t len = exec_record(&e, "", 0, cases[i].form, cases[i].parts, cases[i].len, "", 0);

		assert_int_equal(decode(&s, &e, len), 0);
		if (cases[i].want)
			has_word(&s.text, cases[i].want);
		else
			has_no_word(&s.text, "task.exe=");
		event_words_fini(&s.text);
	}
}

/* Lengths that say more than is there, and every cut of a good record: no event, no crash. */
static void a_short_record_is_refused(void **state)
{
	struct seen s = { 0 };
	struct exec_full e;
	size_t len = exec_record(&e, TEXT("n"), PROC_PATH_PARTS, TEXT("p"), TEXT("a"));

	(void)state;
	for (size_t cut = sizeof(struct sonde_rec); cut < len; cut++) {
		e.rec.hdr.len = (uint32_t)cut;
		assert_int_equal(decode(&s, &e, cut), -EBADMSG);
	}
	e.rec.hdr.len = (uint32_t)len;
	e.rec.args_len = UINT16_MAX;
	assert_int_equal(decode(&s, &e, len), -EBADMSG);
	e.rec.hdr.type = SONDE_EV(PROBE_ID, 0xff);
	assert_int_equal(decode(&s, &e, len), -ENOSYS);
	e.rec.hdr.type = SONDE_EV(PROBE_ID, 0);
	assert_int_equal(decode(&s, &e, len), -ENOSYS);
	assert_int_equal(s.n, 0);
	event_words_fini(&s.text);
}

static void a_fork_tells_threads_from_processes(void **state)
{
	struct proc_fork_rec r = {
		.hdr = { .len = sizeof(r), .type = PROC_REC_FORK, .flags = SONDE_RF_IDENT, .tgid = 8, .tid = 8,
			 .start_ns = 50 },
		.who = { .ppid = 7, .comm = "sh" }, .maker_tgid = 7, .maker_tid = 7, .maker_start_ns = 40,
	};
	struct seen s = { 0 };

	(void)state;
	assert_int_equal(decode(&s, &r, sizeof(r)), 0);
	has_word(&s.text, "task.thread=false ");
	has_word(&s.text, "task.maker=7 ");
	r.hdr.tgid = r.maker_tgid = 7;
	assert_int_equal(decode(&s, &r, sizeof(r)), 0);
	has_word(&s.text, "task.thread=true ");
	event_words_fini(&s.text);
}

static void an_exit_has_a_code_or_a_signal(void **state)
{
	struct proc_exit_rec r = {
		.hdr = { .len = sizeof(r), .type = PROC_REC_EXIT, .flags = SONDE_RF_IDENT, .tgid = 8, .tid = 9 },
		.status = 3 << 8, .group_status = 9, .comm = "w",
	};
	struct seen s = { 0 };

	(void)state;
	assert_int_equal(decode(&s, &r, sizeof(r)), 0);
	has_word(&s.text, "exit.code=3 ");
	has_word(&s.text, "exit.last=false ");
	assert_int_equal(s.fact.kind, SEC_STATE_EXIT);
	has_no_word(&s.text, "exit.signal");
	r.last = 1;
	assert_int_equal(decode(&s, &r, sizeof(r)), 0);
	has_word(&s.text, "exit.signal=9 ");
	has_no_word(&s.text, "exit.code");
	assert_string_equal(buf_str(&s.text.line), "w[8] exit thread 9 signal 9, process gone\n");
	event_words_fini(&s.text);
}

static void a_mapping_has_what_symbols_need(void **state)
{
	struct { struct proc_mmap_rec rec; char path[16]; } m = {
		.rec.hdr = { .len = sizeof(m.rec) + 9, .type = PROC_REC_MMAP, .tgid = 8, .tid = 8 },
		.rec.addr = 0x7f0000001000, .rec.len = 0x2000, .rec.file_off = 0x1000, .rec.prot = 5,
		.rec.build_id = { 0xab, 0xcd }, .rec.build_id_len = 20, .rec.path_len = 9, .path = "/lib/c.so",
	};
	struct seen s = { 0 };

	(void)state;
	assert_int_equal(decode(&s, &m, m.rec.hdr.len), 0);
	has_word(&s.text, "map.addr=0x7f0000001000 map.len=8192 map.offset=4096 ");
	has_word(&s.text, "map.prot=read|exec ");
	has_word(&s.text, "map.path=/lib/c.so ");
	has_no_word(&s.text, "map.ino=");
	assert_string_equal(buf_str(&s.text.line), "[8] map 0x7f0000001000+0x2000 offset 0x1000 /lib/c.so build-id "
			    "abcd000000000000000000000000000000000000\n");
	m.rec.build_id_len = 21;
	assert_int_equal(decode(&s, &m, m.rec.hdr.len), -EBADMSG);
	event_words_fini(&s.text);
}

static void a_socket_has_its_keys(void **state)
{
	struct proc_socket_rec r = {
		.hdr = { .len = sizeof(r), .type = PROC_REC_SOCKET, .flags = SONDE_RF_IDENT, .tgid = 8, .tid = 8,
			 .start_ns = 5 },
		.cookie = 4097, .listener = 4096, .netns = 11, .what = PROC_SOCK_ACCEPT, .family = 4, .proto = 6,
		.state = 3, .lport = 80, .rport = 40000, .laddr = { 10, 0, 0, 1 }, .raddr = { 10, 0, 0, 2 },
		.comm = "nginx",
	};
	struct seen s = { 0 };

	(void)state;
	assert_int_equal(decode(&s, &r, sizeof(r)), 0);
	assert_int_equal(s.cookie, 4097);
	assert_int_equal(s.netns, 11);
	has_word(&s.text, "sock.what=accept ");
	has_word(&s.text, "sock.closed=false ");
	has_word(&s.text, "sock.listener=4096 ");
	assert_string_equal(buf_str(&s.text.line), "nginx[8] socket accept 10.0.0.1:80 <> 10.0.0.2:40000 from "
			    "SYN_RECV cookie 4097 netns 11\n");
	r.what = PROC_SOCK_CLOSE;
	assert_int_equal(decode(&s, &r, sizeof(r)), 0);
	has_word(&s.text, "sock.closed=true ");
	assert_int_equal(s.fact.kind, SEC_STATE_SOCKET);
	assert_true(s.fact.flag);
	r.family = 5;
	assert_int_equal(decode(&s, &r, sizeof(r)), -EBADMSG);
	event_words_fini(&s.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exec_says_program_and_arguments), cmocka_unit_test(an_exec_is_a_fact),
		cmocka_unit_test(a_task_may_have_ended),
		cmocka_unit_test(paths_come_in_every_form),
		cmocka_unit_test(a_short_record_is_refused),
		cmocka_unit_test(a_fork_tells_threads_from_processes),
		cmocka_unit_test(an_exit_has_a_code_or_a_signal),
		cmocka_unit_test(a_mapping_has_what_symbols_need),
		cmocka_unit_test(a_socket_has_its_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
