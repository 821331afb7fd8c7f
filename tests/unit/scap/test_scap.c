// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Captures of sysdig: the reader over good and bad files, the state, the writer. The session is
 * tests/data/scap/session.scap; tests/golden/scap/sysdig is sysdig 0.29.3's output for it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/macros.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/names.h"
#include "event/value.h"
#include "scap/block.h"
#include "scap/event.h"
#include "scap/freeze.h"
#include "scap/schema.h"
#include "scap/state/state.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"
#include "state/state.h"
#include "state/state_task.h"
#include "tests/unit/records.h"

extern const struct source_ops scap_source;

static struct buf session;

static int load(void **state)
{
	int fd = open(TEST_DATA "/scap/session.scap", O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;

	(void)state;
	if (fd < 0)
		return -1;
	do {
		char *p = buf_reserve(&session, 65536);

		n = p ? read(fd, p, 65536) : -1;
		if (n > 0)
			buf_commit(&session, (size_t)n);
	} while (n > 0);
	close(fd);
	return n < 0 ? -1 : 0;
}

static int unload(void **state)
{
	(void)state;
	buf_fini(&session);
	return 0;
}

/* ---- the reader ---- */

static size_t count_lines(struct buf *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->len; i++)
		n += b->data[i] == '\n';
	return n;
}

/* Damaged and truncated files: bounded, and a sentence whenever a file is refused. */
static void truncations_of_damaged_files_end(void **state)
{
	/* a list's entry, an event's length, its parameters: all ones */
	static const size_t damage[] = { 228, 3000, 3600 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(damage); i++) {
		struct buf copy = { 0 };

		buf_add(&copy, session.data, session.len);
		memset(copy.data + damage[i], 0xff, 4);
		for (size_t cut = 0; cut < copy.len; cut++) {
			struct buf part = { 0 };
			struct err e = { 0 };
			int r = records_parse(&scap_source, copy.data, cut, 64, &part, &e);

			assert_true(r == 0 || r == -ENODATA || r == -EBADMSG);
			assert_true(r == 0 || (e.msg[0] && !strchr(e.msg, '\n')));
			buf_fini(&part);
		}
		buf_fini(&copy);
	}
}

/* A truncated file gives the beginning of the whole file's records, and a sentence. */
static void every_truncation_gives_a_beginning(void **state)
{
	struct buf whole = { 0 };
	struct err e = { 0 };
	size_t last = 0;

	(void)state;
	assert_int_equal(records_parse(&scap_source, session.data, session.len, session.len, &whole, &e), 0);
	assert_true(count_lines(&whole) > 47);
	for (size_t cut = 0; cut < session.len; cut++) {
		struct buf part = { 0 };
		struct err pe = { 0 };
		int r = records_parse(&scap_source, session.data, cut, cut ? cut : 1, &part, &pe);
		size_t n = count_lines(&part);

		assert_true(r == 0 || r == -ENODATA);
		assert_true(r == 0 || pe.msg[0]);
		assert_true(part.len <= whole.len);
		if (part.len)
			assert_memory_equal(part.data, whole.data, part.len);
		assert_true(n >= last);
		last = n;
		buf_fini(&part);
	}
	buf_fini(&whole);
}

/* Each has one defect, named in one sentence. */
static void hostile_files_are_refused(void **state)
{
	static const struct { const char *what; size_t at; uint32_t value; int code; } rows[] = {
		{ "section: big-endian", 8, 0x4D3C2B1A, -EBADMSG },
		{ "section: no byte order", 8, 0, -EBADMSG },
		{ "section: major 2", 12, 2, -EBADMSG },
		{ "section: length 0", 4, 0, -EBADMSG },
		{ "section: length 27", 4, 27, -EBADMSG },
		{ "section: huge", 4, 0xfffffffc, -EBADMSG },
		{ "section: trailer", 24, 1, -EBADMSG },
		{ "machine: length 0", 32, 0, -EBADMSG },
		{ "machine: odd length", 32, 193, -EBADMSG },
		{ "machine: more than there is", 32, 60000, -ENODATA },
		{ "machine: 4 GiB", 32, 0xfffffffc, -EBADMSG },
		{ "machine: trailer", 216, 0, -EBADMSG },
		{ "interface list: entry beyond its block", 228, 0x7fffffff, -EBADMSG },
		{ "interface list: type 0", 232, 0, -EBADMSG },
		{ "interface list: name beyond its entry", 232, 0xffff0001, -EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf copy = { 0 }, out = { 0 };
		struct err e = { 0 };
		int r;

		buf_add(&copy, session.data, session.len);
		memcpy(copy.data + rows[i].at, &rows[i].value, sizeof(rows[i].value));
		r = records_parse(&scap_source, copy.data, copy.len, copy.len, &out, &e);
		if (r != rows[i].code || !e.msg[0] || strchr(e.msg, '\n'))
			fail_msg("%s: %d %s", rows[i].what, r, e.msg);
		buf_fini(&copy);
		buf_fini(&out);
	}
}

/* Any one field of the file replaced by an absurd value: bounded, and a sentence if it is refused. */
static void any_word_may_be_wrong(void **state)
{
	static const uint32_t evil[] = { 0, 0xffffffff, 0x7fffffff, 0x80000000, 0xffff };

	(void)state;
	for (size_t at = 0; at + 4 <= session.len; at += 4) {
		struct buf copy = { 0 }, out = { 0 };
		struct err e = { 0 };
		int r;

		buf_add(&copy, session.data, session.len);
		memcpy(copy.data + at, &evil[at / 4 % ARRAY_SIZE(evil)], 4);
		r = records_parse(&scap_source, copy.data, copy.len, copy.len, &out, &e);
		assert_true(r == 0 || e.msg[0]);
		buf_fini(&copy);
		buf_fini(&out);
	}
}

static void pcapng_is_another_format(void **state)
{
	static const uint32_t packets[] = { 0x0A0D0D0A, 28, 0x1A2B3C4D, 0x00000001, 0xffffffff, 0xffffffff, 28, 1 };

	(void)state;
	assert_true(scap_source.match(session.data, session.len));
	assert_int_equal(scap_source.match_bytes(session.data, 8), 32);
	assert_false(scap_source.match(packets, sizeof(packets)));
	assert_false(scap_source.match(session.data, 28));
}

/* ---- old versions of lists ---- */

static int count_row(void *ctx, const struct params_out *row)
{
	struct params_out *out = ctx;

	params_begin(out, row->head.type, row->head.tid);
	out->head.n = row->head.n;
	memcpy(out->len, row->len, sizeof(out->len));
	return 0;
}

static void the_first_process_lists_are_read(void **state)
{
	static const struct { uint32_t number; unsigned ints, with_env, with_vtid; } versions[] = {
		{ 0x202, 0, 0, 0 }, { 0x207, 1, 0, 0 }, { 0x209, 1, 1, 0 }, { 0x210, 1, 1, 1 },
		{ 0x8000ABCD, 0, 0, 0 }, { 0x8013ABCD, 1, 0, 0 }, { 0x8014ABCD, 1, 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		const struct scap_block_type *t = scap_block_type(versions[i].number);
		struct params_out row = { 0 }, seen = { 0 };
		const char *problem = NULL;
		struct buf b = { 0 };

		for (uint64_t n = 1; n <= 3; n++)
			buf_add(&b, &n, sizeof(n));
		buf_add(&b, "\4\0comm\3\0exe\4\0-a\0\0\5\0/home", 24);
		buf_add(&b, "\0\4\0\0\0\0\0\0" "\0\0\0\0" "\1\0\0\0" "\2\0\0\0", 20);
		if (versions[i].ints)
			buf_add(&b, "aaaabbbbccccddddddddeeeeeeee", 28);
		if (versions[i].with_env)
			buf_add(&b, "\4\0A=1\0", 6);
		if (versions[i].with_vtid)
			buf_add(&b, "\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0", 18);
		assert_int_equal(scap_block_rows(t, cur_init(b.data, b.len), &row, count_row, &seen, &problem), 0);
		assert_int_equal(seen.head.type, SCAP_ROW_THREAD);
		assert_int_equal(seen.len[5], 5);	/* comm and its NUL */
		assert_int_equal(seen.len[9], 6);	/* cwd */
		assert_int_equal(seen.len[14], versions[i].ints ? 4 : 0);
		assert_int_equal(seen.len[19], versions[i].with_env ? 4 : 0);
		assert_int_equal(seen.len[20], versions[i].with_vtid ? 8 : 0);
		params_out_fini(&row);
		params_out_fini(&seen);
		buf_fini(&b);
	}
}

/* ---- the state ---- */

struct fold {
	struct scap_state *st;
	struct arena scratch;
	struct params_out out;
	struct event ev;
};

static void fold_begin(struct fold *f)
{
	*f = (struct fold){ .st = scap_state_new() };
	assert_non_null(f->st);
}

static void fold_end(struct fold *f)
{
	scap_state_free(f->st);
	arena_fini(&f->scratch);
	params_out_fini(&f->out);
}

static const struct scap_view *take(struct fold *f, uint64_t ts_ns)
{
	uint32_t len;
	const void *data = params_finish(&f->out, &f->scratch, &len);

	f->ev = (struct event){ .desc = scap_is_row(f->out.head.type) ? &scap_row_desc : &scap_event_desc,
				.ts_ns = ts_ns };
	event_add_section(&f->ev, SEC_PARAMS, data, len);
	assert_int_equal(scap_state_event(f->st, &f->ev), 0);
	return scap_state_view(&f->ev);
}

static const struct scap_view *open_file(struct fold *f, int64_t tid, uint64_t fd, const char *path)
{
	params_begin(&f->out, SCAP_OPEN_X, tid);
	params_add_u64(&f->out, fd);
	params_add_str(&f->out, path, strlen(path));
	params_add_u32(&f->out, 1);
	params_add_u32(&f->out, 0);
	return take(f, 1000);
}

static const struct scap_view *clone_child(struct fold *f, int64_t in, int64_t res, int64_t tid, int64_t pid,
					   int64_t ptid, uint32_t flags, uint64_t ts_ns)
{
	params_begin(&f->out, SCAP_CLONE_20_X, in);
	params_add_u64(&f->out, (uint64_t)res);
	params_add_str(&f->out, "exe", 3);
	params_add(&f->out, NULL, 0);
	params_add_u64(&f->out, (uint64_t)tid);
	params_add_u64(&f->out, (uint64_t)pid);
	params_add_u64(&f->out, (uint64_t)ptid);
	params_add_str(&f->out, "", 0);
	for (int i = 0; i < 3; i++)
		params_add_u64(&f->out, 0);
	for (int i = 0; i < 3; i++)
		params_add_u32(&f->out, 0);
	params_add_str(&f->out, "child", 5);
	params_add(&f->out, NULL, 0);
	params_add_u32(&f->out, flags);
	params_add_u32(&f->out, 7);
	params_add_u32(&f->out, 7);
	params_add_u64(&f->out, (uint64_t)in);
	params_add_u64(&f->out, (uint64_t)in);
	return take(f, ts_ns);
}

static void exit_of(struct fold *f, int64_t tid)
{
	params_begin(&f->out, SCAP_PROCEXIT_1_E, tid);
	params_add_u64(&f->out, 0);
	take(f, 5000);
}

static void a_fork_has_its_own_descriptors(void **state)
{
	const struct scap_thread *parent, *child;
	struct fold f;

	(void)state;
	fold_begin(&f);
	open_file(&f, 10, 3, "/one");
	clone_child(&f, 10, 11, 10, 10, 1, 0, 2000);
	open_file(&f, 11, 3, "/two");
	open_file(&f, 10, 4, "/three");
	parent = scap_state_thread(f.st, 10);
	child = scap_state_thread(f.st, 11);
	assert_string_equal(scap_state_fd(f.st, parent, 3)->name->data, "/one");
	assert_string_equal(scap_state_fd(f.st, child, 3)->name->data, "/two");
	assert_null(scap_state_fd(f.st, child, 4));
	assert_string_equal(child->comm->data, "child");
	fold_end(&f);
}

static void a_thread_shares_its_process(void **state)
{
	struct fold f;

	(void)state;
	fold_begin(&f);
	clone_child(&f, 10, 12, 10, 10, 1, SCAP_CLONE_THREAD, 2000);
	open_file(&f, 12, 5, "/of-thread");
	assert_string_equal(scap_state_fd(f.st, scap_state_thread(f.st, 10), 5)->name->data, "/of-thread");
	exit_of(&f, 12);
	open_file(&f, 10, 6, "/later");
	assert_null(scap_state_thread(f.st, 12));
	assert_non_null(scap_state_fd(f.st, scap_state_thread(f.st, 10), 5));
	fold_end(&f);
}

static void exec_of(struct fold *f, int64_t tid, const char *comm, uint64_t ts_ns)
{
	params_begin(&f->out, SCAP_EXECVE_19_X, tid);
	params_add_u64(&f->out, 0);
	params_add_str(&f->out, comm, strlen(comm));
	params_add(&f->out, NULL, 0);
	params_add_u64(&f->out, (uint64_t)tid);
	params_add_u64(&f->out, (uint64_t)tid);
	params_add_u64(&f->out, 10);
	params_add_str(&f->out, "", 0);
	for (int i = 0; i < 3; i++)
		params_add_u64(&f->out, 0);
	for (int i = 0; i < 3; i++)
		params_add_u32(&f->out, 0);
	params_add_str(&f->out, comm, strlen(comm));
	take(f, ts_ns);
}

static void thread_row(struct fold *f, int64_t tid, const char *comm, uint64_t ts_ns)
{
	params_begin(&f->out, SCAP_ROW_THREAD, -1);
	params_add_u64(&f->out, (uint64_t)tid);
	params_add_u64(&f->out, (uint64_t)tid);
	params_add_u64(&f->out, 10);
	for (int i = 0; i < 2; i++)
		params_add_u64(&f->out, 0);
	params_add_str(&f->out, comm, strlen(comm));
	take(f, ts_ns);
}

/* The parent of a vfork() returns after the child's exec; under load so does that of a fork(). */
static void late_clone_keeps_the_exec(void **state)
{
	const uint64_t start = 100 * 1000000000ull;
	struct fold f;

	(void)state;
	fold_begin(&f);
	open_file(&f, 10, 3, "/inherited");
	exec_of(&f, 11, "ls", start);
	clone_child(&f, 10, 11, 10, 10, 1, 0, start + 1000);
	assert_string_equal(scap_state_thread(f.st, 11)->comm->data, "ls");
	assert_int_equal(scap_state_thread(f.st, 11)->ptid, 10);
	assert_string_equal(scap_state_fd(f.st, scap_state_thread(f.st, 11), 3)->name->data, "/inherited");
	/* read again from /proc after its exec, at a time later than that of the clone */
	thread_row(&f, 12, "row", start + 9000);
	clone_child(&f, 10, 12, 10, 10, 1, 0, start + 2000);
	assert_string_equal(scap_state_thread(f.st, 12)->comm->data, "row");
	/* a row from before the start describes an earlier process of that number */
	thread_row(&f, 13, "old", start);
	clone_child(&f, 10, 13, 10, 10, 1, 0, start + 5000000000ull);
	assert_string_equal(scap_state_thread(f.st, 13)->comm->data, "child");
	fold_end(&f);
}

static const struct event_desc live_desc = { .type = 0x7001, .name = "t.call", .class = EVENT_DATA };

/* Event of a live call: its record says which process it is. */
static const struct scap_view *take_live(struct fold *f, uint32_t tid, uint64_t start_ns, uint64_t ts_ns)
{
	uint32_t len;
	const void *data = params_finish(&f->out, &f->scratch, &len);

	f->ev = (struct event){ .desc = &live_desc, .ts_ns = ts_ns, .tgid = tid, .tid = tid, .start_ns = start_ns };
	event_add_section(&f->ev, SEC_PARAMS, data, len);
	assert_int_equal(scap_state_event(f->st, &f->ev), 0);
	return scap_state_view(&f->ev);
}

static const struct scap_view *live_close(struct fold *f, uint32_t tid, uint64_t start_ns, uint64_t ts_ns)
{
	params_begin(&f->out, SCAP_CLOSE_X, tid);
	params_add_u64(&f->out, 0);
	return take_live(f, tid, start_ns, ts_ns);
}

/* Calls alone would say "child": the parent's clone returned after the exec, whose call was lost. */
static void live_names_are_those_of_the_engine(void **state)
{
	struct state *engine = state_new(0);
	struct state_task_fact exec = {
		.ts_ns = 2000, .tgid = 11, .tid = 11, .start_ns = 1500, .comm = "ls", .comm_len = 2,
		.exe = "/bin/ls", .exe_len = 7, .args = "ls -l", .args_len = 5,
	};
	const struct scap_thread *t;
	struct fold f;

	(void)state;
	fold_begin(&f);
	scap_state_set_engine(f.st, engine);
	assert_int_equal(state_task_apply(engine, &exec), 0);
	clone_child(&f, 10, 11, 10, 10, 1, 0, 2500);
	t = live_close(&f, 11, 1500, 3000)->thread;
	assert_string_equal(t->comm->data, "ls");
	assert_string_equal(t->exepath->data, "/bin/ls");
	assert_string_equal(t->exe->data, "ls");
	assert_string_equal(t->args->data, "-l");
	exec.ts_ns = 4000;
	exec.comm = "wc";
	assert_int_equal(state_task_apply(engine, &exec), 0);
	assert_string_equal(live_close(&f, 11, 1500, 3500)->thread->comm->data, "ls");
	assert_string_equal(live_close(&f, 11, 1500, 4500)->thread->comm->data, "wc");
	fold_end(&f);
	state_free(engine);
}

/* A live read of descriptor 3, with the file that the kernel found there; @name NULL: its description was lost. */
static const struct scap_fd *live_read(struct fold *f, uint64_t number, uint64_t ino, const char *name)
{
	static union {
		struct sec_file file;
		char bytes[sizeof(struct sec_file) + 64];
	} s;
	uint32_t len;
	const void *data;

	params_begin(&f->out, SCAP_READ_E, 10);
	params_add_u64(&f->out, 3);
	params_add_u32(&f->out, 100);
	data = params_finish(&f->out, &f->scratch, &len);
	f->ev = (struct event){
		.desc = &live_desc, .ts_ns = 2000, .tgid = 10, .tid = 10,
		.keys = { .file = number, .file_fd = 3 + 1 },
	};
	event_add_section(&f->ev, SEC_PARAMS, data, len);
	if (name) {
		s.file = (struct sec_file){
			.number = number, .ino = ino, .dev = 8 << 20 | 1, .kind = FILE_KIND_FILE,
			.name_len = (uint32_t)strlen(name),
		};
		memcpy(s.file.name, name, s.file.name_len);
		event_add_section(&f->ev, SEC_FILE, &s, (uint32_t)sizeof(s.file) + s.file.name_len);
	}
	assert_int_equal(scap_state_event(f->st, &f->ev), 0);
	return scap_state_view(&f->ev)->fd;
}

/* Descriptors change without a call that names them: SCM_RIGHTS, close_range, a call that was lost. */
static void live_descriptors_are_those_of_the_kernel(void **state)
{
	const struct scap_fd *fd;
	struct fold f;

	(void)state;
	fold_begin(&f);
	open_file(&f, 10, 3, "/link");
	assert_string_equal(live_read(&f, 7, 70, "/link")->name->data, "/link");
	assert_string_equal(live_read(&f, 8, 70, "/renamed")->name->data, "/link");	/* as the program called it */
	fd = live_read(&f, 9, 90, "/passed");
	assert_string_equal(fd->name->data, "/passed");
	assert_int_equal(fd->ino, 90);
	assert_int_equal(fd->dev, 8 << 8 | 1);
	assert_string_equal(live_read(&f, 9, 90, NULL)->name->data, "/passed");
	assert_null(live_read(&f, 10, 0, NULL));
	assert_string_equal(live_read(&f, 10, 100, "/again")->name->data, "/again");
	fold_end(&f);
}

#define DOCKER_ID "d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0"

/* Row of task 10 in cgroups @list, which ends in a NUL like each of its entries. */
static void cgroup_row(struct fold *f, const char *list, size_t len)
{
	params_begin(&f->out, SCAP_ROW_THREAD, -1);
	params_add_u64(&f->out, 10);
	params_add_u64(&f->out, 10);
	for (int i = 2; i < 22; i++)
		params_add(&f->out, NULL, 0);
	params_add(&f->out, list, len);
	take(f, 1000);
}

/* A live event of task 10 in a cgroup that is called @path. */
static const struct scap_thread *live_in_cgroup(struct fold *f, const char *path)
{
	static uint64_t id = 70;
	struct names *names = event_names_new();
	uint32_t len;
	const void *data;

	assert_int_equal(event_names_set(names, SONDE_NAME_CGROUP, ++id, path, strlen(path)), 0);
	params_begin(&f->out, SCAP_CLOSE_E, 10);
	params_add_u64(&f->out, 3);
	data = params_finish(&f->out, &f->scratch, &len);
	f->ev = (struct event){
		.desc = &live_desc, .ts_ns = 2000, .tgid = 10, .tid = 10, .names = names, .keys = { .cgroup_id = id },
	};
	event_add_section(&f->ev, SEC_PARAMS, data, len);
	assert_int_equal(scap_state_event(f->st, &f->ev), 0);
	event_names_free(names);
	return scap_state_view(&f->ev)->thread;
}

#define ASSERT_CGROUPS(t, list) do { \
		assert_int_equal((t)->cgroups->len, sizeof(list)); \
		assert_memory_equal((t)->cgroups->data, list, sizeof(list)); \
	} while (0)

/* A process is moved behind the back of its calls: by init into its service, by an engine into its container. */
static void live_cgroups_are_those_of_the_kernel(void **state)
{
	static const char init[] = "cpuset=/init.scope\0cpu=/init.scope\0io=/init.scope";
	static const char older[] = "memory=/docker/" DOCKER_ID "\0cpu=/";
	const struct scap_thread *t;
	struct fold f;

	(void)state;
	fold_begin(&f);
	cgroup_row(&f, init, sizeof(init));
	ASSERT_CGROUPS(live_in_cgroup(&f, "/init.scope"), init);
	t = live_in_cgroup(&f, "/web.service");
	ASSERT_CGROUPS(t, "cpuset=/web.service\0cpu=/web.service\0io=/web.service");
	assert_null(t->container);
	t = live_in_cgroup(&f, "/docker-" DOCKER_ID ".scope");
	assert_string_equal(t->container->data, "d0d0d0d0d0d0");
	assert_null(live_in_cgroup(&f, "/init.scope")->container);
	/* beside an older hierarchy that has the container */
	cgroup_row(&f, older, sizeof(older));
	t = live_in_cgroup(&f, "/a");
	ASSERT_CGROUPS(t, "memory=/docker/" DOCKER_ID "\0cpu=/\0unified=/a");
	ASSERT_CGROUPS(live_in_cgroup(&f, "/b"), "memory=/docker/" DOCKER_ID "\0cpu=/\0unified=/b");
	assert_string_equal(t->container->data, "d0d0d0d0d0d0");
	fold_end(&f);
}

/* Words of an event that is kept read as they did. */
static void frozen_words_are_those_of_the_event(void **state)
{
	struct arena scratch = { 0 };
	struct buf then = { 0 }, now = { 0 };
	unsigned same = 0, padded = 0;
	struct event frozen;
	struct fold f;

	(void)state;
	fold_begin(&f);
	open_file(&f, 10, 3, "/srv/file");
	assert_int_equal(scap_freeze(&f.ev, &scratch, &frozen), 0);
	for (unsigned i = 0; i < f.ev.desc->n_fields; i++) {
		const struct field *word = &f.ev.desc->fields[i];
		struct value a = { 0 }, b = { 0 };

		if (word->flags & FIELD_ARGUMENT || event_get(&frozen, word, &b) < 0)
			continue;
		assert_int_equal(event_get(&f.ev, word, &a), 0);
		buf_reset(&then);
		buf_reset(&now);
		value_text(&a, &then);
		value_text(&b, &now);
		assert_string_equal(buf_str(&now), buf_str(&then));
		same++;
		padded += a.padded;
	}
	assert_true(same > 20 && padded);
	buf_fini(&then);
	buf_fini(&now);
	arena_fini(&scratch);
	fold_end(&f);
}

/* A number is given to another process: nothing of the old one remains, however it exited. */
static void numbers_are_reused(void **state)
{
	const struct scap_view *v;
	struct fold f;

	(void)state;
	fold_begin(&f);
	clone_child(&f, 10, 11, 10, 10, 1, 0, 2000);
	open_file(&f, 11, 3, "/old");
	exit_of(&f, 11);
	v = clone_child(&f, 10, 11, 10, 10, 1, 0, 9000);
	assert_null(scap_state_fd(f.st, scap_state_thread(f.st, 11), 3));
	assert_int_equal(v->thread->tid, 10);
	open_file(&f, 11, 3, "/second");
	/* No exit was seen, and the same number is cloned much later: another process. */
	clone_child(&f, 10, 11, 10, 10, 1, 0, 9000 + 5000000000ull);
	assert_null(scap_state_fd(f.st, scap_state_thread(f.st, 11), 3));
	fold_end(&f);
}

static void memory_stays_flat(void **state)
{
	size_t pos = 0, fds = 0;
	const struct scap_thread *t;
	struct fold f;
	int64_t num;

	(void)state;
	fold_begin(&f);
	open_file(&f, 10, 3, "/inherited");
	for (int64_t i = 0; i < 20000; i++) {
		clone_child(&f, 10, 100 + i, 10, 10, 1, 0, 2000);
		open_file(&f, 100 + i, 4, "/own");
		exit_of(&f, 100 + i);
		arena_reset(&f.scratch);
	}
	open_file(&f, 10, 5, "/last");
	t = scap_state_next_thread(f.st, &pos);
	assert_null(scap_state_next_thread(f.st, &pos));
	for (pos = 0; scap_state_next_fd(t, &pos, &num);)
		fds++;
	assert_int_equal(fds, 2);
	fold_end(&f);
}

/* The row of a task hidden by a gap replaces the invented one. */
static void a_row_heals(void **state)
{
	struct fold f;

	(void)state;
	fold_begin(&f);
	open_file(&f, 50, 3, "relative");
	assert_string_equal(scap_state_thread(f.st, 50)->comm->data, "<NA>");
	params_begin(&f.out, SCAP_ROW_THREAD, -1);
	params_add_u64(&f.out, 50);
	params_add_u64(&f.out, 50);
	params_add_u64(&f.out, 1);
	for (int i = 0; i < 2; i++)
		params_add_u64(&f.out, 0);
	params_add_str(&f.out, "healed", 6);
	for (int i = 0; i < 3; i++)
		params_add(&f.out, NULL, 0);
	params_add_str(&f.out, "/srv", 4);
	take(&f, 0);
	open_file(&f, 50, 4, "file");
	assert_string_equal(scap_state_thread(f.st, 50)->comm->data, "healed");
	assert_string_equal(scap_state_fd(f.st, scap_state_thread(f.st, 50), 4)->name->data, "/srv/file");
	assert_non_null(scap_state_fd(f.st, scap_state_thread(f.st, 50), 3));
	fold_end(&f);
}

static void wrong_parameters_change_nothing(void **state)
{
	const struct line_opts o = { 0 };
	struct buf line = { 0 };
	struct fold f;

	(void)state;
	fold_begin(&f);
	/* Every type, with none, short, and far too large parameters. */
	for (unsigned type = 0; type < SCAP_EVENT_MAX; type++) {
		for (unsigned n = 0; n < 34; n += 11) {
			if (!scap_schema_event_info(type))
				continue;
			params_begin(&f.out, (uint16_t)type, (int64_t)(type % 5));
			for (unsigned i = 0; i < n; i++)
				params_add(&f.out, "\xff\xff\xff\xff\xff\xff\xff\x7f\xff", (type + i) % 10);
			assert_non_null(take(&f, type));
			event_line(&f.ev, &o, &line);
			buf_reset(&line);
			arena_reset(&f.scratch);
		}
	}
	buf_fini(&line);
	fold_end(&f);
}

/* ---- the writer ---- */

struct copy {
	struct decode_set *d;
	struct scap_state *st;
	struct sink sink;
	struct sink_opts opts;
	struct outfile *out;
};

static int copy_event(void *ctx, struct event *ev)
{
	struct copy *c = ctx;

	assert_int_equal(scap_state_event(c->st, ev), 0);
	return sink_event(&c->sink, ev);
}

static int copy_record(void *ctx, const struct sonde_rec *r)
{
	struct copy *c = ctx;

	assert_int_equal(sink_record(&c->sink, r), 0);
	return decode_record(c->d, r, r->len, copy_event, c);
}

static void what_is_read_is_written(void **state)
{
	static const struct decoder_ops *const decoders[] = { &scap_decoder, NULL };
	struct copy c = { .st = scap_state_new() };
	void *src = calloc(1, scap_source.state_size);
	const void *data;
	struct err e = { 0 };
	size_t len;

	(void)state;
	assert_int_equal(decode_set_new(decoders, &c.d), 0);
	assert_int_equal(outfile_open_mem(&c.out), 0);
	assert_int_equal(sink_open(&c.sink, sink_find("scap"), &c.opts, c.out, NULL), 0);
	assert_int_equal(scap_source.parse(src, session.data, session.len, true, copy_record, &c, &e), session.len);
	assert_int_equal(sink_close(&c.sink), 0);
	data = outfile_mem(c.out, &len);
	/* The session's rows end earlier than ours do; everything after the tables is the same. */
	assert_true(len > session.len);
	assert_memory_equal((const char *)data + len - 2000, session.data + session.len - 2000, 2000);
	scap_source.fini(src);
	free(src);
	decode_set_free(c.d);
	scap_state_free(c.st);
	outfile_free(c.out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_truncation_gives_a_beginning),
		cmocka_unit_test(truncations_of_damaged_files_end),
		cmocka_unit_test(hostile_files_are_refused),
		cmocka_unit_test(any_word_may_be_wrong),
		cmocka_unit_test(pcapng_is_another_format),
		cmocka_unit_test(the_first_process_lists_are_read),
		cmocka_unit_test(a_fork_has_its_own_descriptors),
		cmocka_unit_test(late_clone_keeps_the_exec),
		cmocka_unit_test(a_thread_shares_its_process),
		cmocka_unit_test(live_names_are_those_of_the_engine),
		cmocka_unit_test(live_descriptors_are_those_of_the_kernel),
		cmocka_unit_test(live_cgroups_are_those_of_the_kernel),
		cmocka_unit_test(frozen_words_are_those_of_the_event),
		cmocka_unit_test(numbers_are_reused),
		cmocka_unit_test(memory_stays_flat),
		cmocka_unit_test(a_row_heals),
		cmocka_unit_test(wrong_parameters_change_nothing),
		cmocka_unit_test(what_is_read_is_written),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
