// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Open files of the sys probe: names and kinds from records, and calls that find their file by its number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/buf.h"
#include "event/decode.h"
#include "event/event.h"

#define PROBE_ID 4
#include "probes/sys/sys_event.h"
#include "probes/sys/sys_files.h"
#include "state/state.h"
#include "state/state_event.h"

#define NSFS 0x6e736673u
#define PIPEFS 0x50495045u
#define SECRETMEM 0x5345434du

struct made {
	struct sys_file_rec rec;
	char path[64];
};

/* @path: components, last first, each with a NUL. */
static struct made file(uint64_t number, uint32_t mode, uint32_t magic, const char *path, size_t len)
{
	struct made m = { .rec = { .hdr = { .ts_ns = 5, .type = SYS_REC_FILE, .tgid = 7, .tid = 8 }, .number = number,
				   .mode = mode, .magic = magic, .ino = 99, .path_len = (uint16_t)len } };

	memcpy(m.path, path, len);
	m.rec.hdr.len = (uint32_t)(sizeof(m.rec) + len);
	return m;
}

static void expect(struct made m, uint8_t kind, const char *name)
{
	struct arena scratch = { 0 };
	const struct sec_file *f;
	uint32_t len;

	assert_int_equal(sys_files_describe(&m.rec, &scratch, &f, &len), 0);
	assert_int_equal(f->kind, kind);
	assert_int_equal(f->name_len, strlen(name));
	assert_memory_equal(f->name, name, f->name_len);
	assert_int_equal(len, sizeof(*f) + f->name_len);
	arena_fini(&scratch);
}

#define FILE_OF(mode, magic, path) file(1, mode, magic, path, sizeof(path) - 1)

static void names(void **state)
{
	struct made m = FILE_OF(S_IFREG, EXT4_SUPER_MAGIC, "passwd\0etc\0");

	(void)state;
	expect(m, FILE_KIND_FILE, "/etc/passwd");
	m.rec.flags = SYS_FILE_DELETED;
	expect(m, FILE_KIND_FILE, "/etc/passwd (deleted)");
	expect(FILE_OF(S_IFDIR, EXT4_SUPER_MAGIC, ""), FILE_KIND_DIR, "/");
	expect(FILE_OF(S_IFIFO, PIPEFS, "\0"), FILE_KIND_PIPE, "pipe:[99]");
	expect(FILE_OF(S_IFIFO, EXT4_SUPER_MAGIC, "f\0"), FILE_KIND_PIPE, "/f");
	expect(FILE_OF(0600, ANON_INODE_FS_MAGIC, "[eventpoll]\0"), FILE_KIND_EPOLL, "anon_inode:[eventpoll]");
	expect(FILE_OF(0600, ANON_INODE_FS_MAGIC, "[new kind]\0"), FILE_KIND_ANON, "anon_inode:[new kind]");
	expect(FILE_OF(S_IFREG, NSFS, "net\0"), FILE_KIND_NAMESPACE, "net:[99]");
	m = FILE_OF(S_IFREG, TMPFS_MAGIC, "memfd:x\0");
	m.rec.flags = SYS_FILE_ROOTLESS | SYS_FILE_ALONE;
	expect(m, FILE_KIND_MEMFD, "/memfd:x (deleted)");
	m = FILE_OF(S_IFREG, SECRETMEM, "secretmem\0");
	m.rec.flags = SYS_FILE_ROOTLESS | SYS_FILE_ALONE;
	expect(m, FILE_KIND_FILE, "/secretmem (deleted)");
	/* somebody's file of that name in a directory is none of them */
	expect(FILE_OF(S_IFREG, TMPFS_MAGIC, "memfd:x\0tmp\0"), FILE_KIND_FILE, "/tmp/memfd:x");
}

static void sockets(void **state)
{
	struct made m = FILE_OF(S_IFSOCK, SOCKFS_MAGIC, "\0");

	(void)state;
	expect(m, FILE_KIND_SOCKET, "socket:[99]");
	m.rec.end = (struct sys_sock){ .family = AF_INET, .proto = IPPROTO_TCP, .lport = 80,
				       .laddr = { 127, 0, 0, 1 } };
	expect(m, FILE_KIND_INET, "127.0.0.1:80");
	m.rec.end.rport = 4000;
	memcpy(m.rec.end.raddr, "\x0a\0\0\x02", 4);
	expect(m, FILE_KIND_INET, "127.0.0.1:80->10.0.0.2:4000");
	m.rec.end = (struct sys_sock){ .family = AF_INET6, .lport = 80, .laddr = { [15] = 1 } };
	expect(m, FILE_KIND_INET, "[::1]:80");
	m.rec.end = (struct sys_sock){ .family = AF_UNIX, .path = "/run/x" };
	expect(m, FILE_KIND_UNIX, "/run/x");
	m.rec.end = (struct sys_sock){ .family = AF_NETLINK };
	expect(m, FILE_KIND_NETLINK, "socket:[99]");
}

extern const struct decoder_ops sys_decoder;

struct lines {
	struct state *state;
	struct buf text;
};

static int take(void *ctx, struct event *ev)
{
	struct line_opts o = { 0 };
	struct lines *l = ctx;

	assert_int_equal(state_event(l->state, ev), 0);
	if (ev->desc->class == EVENT_STATE)
		return 0;
	assert_int_equal(event_line(ev, &o, &l->text), 0);
	o.format = "strace";
	return event_line(ev, &o, &l->text);
}

/* The number of a call's descriptor finds the file; strace's lines stay as strace prints them without -y. */
static void calls_find_their_file(void **state)
{
	static const struct decoder_ops *const decoders[] = { &sys_decoder, NULL };
	struct made m = FILE_OF(S_IFREG, 0, "x\ny\0");
	struct sys_rec r = {
		.hdr = { .len = sizeof(r), .type = SYS_REC_EXIT, .flags = SONDE_RF_IDENT, .tgid = 7, .tid = 8 },
		.id = { .file = 1 }, .n_args = 3, .args = { 3, 0x10, 5 }, .ret = 5,
	};
	struct decode_set *d = NULL;
	struct lines line = { .state = state_new(0) };

	(void)state;
	assert_int_equal(decode_set_new(decoders, &d), 0);
	assert_int_equal(decode_record(d, &m, m.rec.hdr.len, take, &line), 0);
	assert_int_equal(decode_record(d, &r, sizeof(r), take, &line), 0);
	assert_string_equal(buf_str(&line.text), "[8] read(3</x\\ny>, 0x10, 5) = 5\n"
			    "8     read(3, 0x10, 5)                  = 5\n");
	buf_reset(&line.text);
	r.id.file = 2;	/* its record was lost */
	assert_int_equal(decode_record(d, &r, sizeof(r), take, &line), 0);
	assert_memory_equal(buf_str(&line.text), "[8] read(3, 0x10, 5) = 5\n", 25);
	for (uint32_t len = sizeof(struct sonde_rec); len < m.rec.hdr.len; len++) {
		struct made cut = m;

		cut.rec.hdr.len = len;
		assert_int_equal(decode_record(d, &cut, len, take, &line), -EBADMSG);
	}
	buf_fini(&line.text);
	decode_set_free(d);
	state_free(line.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names), cmocka_unit_test(sockets), cmocka_unit_test(calls_find_their_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
