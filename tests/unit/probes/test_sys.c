// SPDX-License-Identifier: GPL-2.0-or-later
/* lint-ok(length): one builder of records serves all cases */
/*
 * The sys probe's decoder: a record for every kind of argument, built here from the kernel's layout, to the text that
 * strace prints and to libscap's parameters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/params.h"
#include "scap/schema.h"

#define PROBE_ID 4
#include "probes/sys/sys_conf.h"
#include "probes/sys/print/sys_print.h"
#include "probes/sys/sys_event.h"
#include "probes/sys/sys_map.h"
#include "probes/sys/sys_params.h"

extern const struct decoder_ops sys_decoder;
static const struct decoder_ops *const decoders[] = { &sys_decoder, NULL };

/* A record under construction. */
struct made {
	struct sys_rec rec;
	uint8_t chunks[2048];
};

static struct made call(unsigned abi, const char *name, int64_t ret, const uint64_t args[6])
{
	struct made m = { .rec = { .hdr = { .ts_ns = 5, .type = SYS_REC_EXIT, .flags = SONDE_RF_IDENT, .tgid = 7,
					 .tid = 8 }, .ret = ret,
				   .abi = (uint8_t)abi } };

	m.rec.nr = 0xffff;
	for (unsigned nr = 0; nr < SYS_NUMBERS; nr++) {
		const struct sys_call *c = sys_table_call_find(abi, nr);

		if (c && !strcmp(c->name, name)) {
			m.rec.nr = (uint16_t)nr;
			m.rec.n_args = c->n_args;
		}
	}
	assert_int_not_equal(m.rec.nr, 0xffff);
	memcpy(m.rec.args, args, sizeof(m.rec.args));
	return m;
}

static void chunk(struct made *m, unsigned arg, unsigned what, unsigned flags, const void *data, size_t len)
{
	struct sys_chunk c = { .arg = (uint8_t)arg, .what = (uint8_t)what, .flags = (uint16_t)flags,
			       .len = (uint32_t)len };

	assert_true(m->rec.chunks_len + sizeof(c) + len + 8 <= sizeof(m->chunks));
	memcpy(m->chunks + m->rec.chunks_len, &c, sizeof(c));
	memcpy(m->chunks + m->rec.chunks_len + sizeof(c), data, len);
	m->rec.chunks_len = (uint16_t)(m->rec.chunks_len + sizeof(c) + ((len + 7) & ~7u));
}

struct got { struct buf line, params; };

static int take(void *ctx, struct event *ev)
{
	const struct line_opts o = { .format = "strace" };
	struct params_out out = { 0 };
	struct got *g = ctx;
	uint32_t len;
	const void *sec;

	assert_int_equal(event_line(ev, &o, &g->line), 0);
	assert_int_equal(sys_params_of(ev, &out), 0);
	sec = params_finish(&out, ev->scratch, &len);
	assert_non_null(sec);
	buf_add(&g->params, sec, len);
	params_out_fini(&out);
	return 0;
}

static int decode(struct made *m, struct got *g)
{
	struct decode_set *d = NULL;
	int r;

	m->rec.hdr.len = (uint32_t)(sizeof(m->rec) + m->rec.chunks_len);
	assert_int_equal(decode_set_new(decoders, &d), 0);
	r = decode_record(d, m, m->rec.hdr.len, take, g);
	decode_set_free(d);
	return r;
}

/* @want without the padding before the result, which is in column 40 if the call is shorter. */
static void expect(struct made m, const char *want)
{
	const char *result = want, *next;
	struct got g = { 0 };
	char line[1024], made[512];

	while ((next = strstr(result + 1, ") = ")))
		result = next;
	assert_true(result > want);
	assert_int_equal(decode(&m, &g), 0);
	snprintf(made, sizeof(made), "8     %.*s", (int)(result + 1 - want), want);
	snprintf(line, sizeof(line), "%-39s%s\n", made, result + 1);
	assert_string_equal(buf_str(&g.line), line);
	buf_fini(&g.line);
	buf_fini(&g.params);
}

#define ARGS(...) ((const uint64_t[6]){ __VA_ARGS__ })
#define CALL(name, ret, ...) call(SYS_ABI_X86_64, name, ret, ARGS(__VA_ARGS__))

static void scalars(void **state)
{
	(void)state;
	expect(CALL("close", -9, 5), "close(5) = -1 EBADF (Bad file descriptor)");
	expect(CALL("close", 0, 0xffffffff), "close(-1) = 0");
	expect(CALL("dup2", 7, 5, 7), "dup2(5, 7) = 7");
	expect(CALL("kill", 0, 12, 9), "kill(12, SIGKILL) = 0");
	expect(CALL("kill", 0, 0xffffffff, 34), "kill(-1, SIGRT_2) = 0");
	expect(CALL("umask", 022, 077), "umask(077) = 022");
	expect(CALL("setresuid", 0, 0, 0xffffffff, 1000), "setresuid(0, -1, 1000) = 0");
	expect(CALL("lseek", 10, 3, (uint64_t)-5, 1), "lseek(3, -5, SEEK_CUR) = 10");
	expect(CALL("brk", 0x5000, 0), "brk(NULL) = 0x5000");
	expect(CALL("fadvise64", 0, 3, 0, 4096, 3), "fadvise64(3, 0, 4096, POSIX_FADV_WILLNEED) = 0");
	expect(CALL("getpid", 12), "getpid() = 12");
	expect(CALL("read", -512, 3, 0x1000, 16),
	       "read(3, 0x1000, 16) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)");
	expect(CALL("mknod", -17, 0, 020666, 0x103),
	       "mknod(NULL, S_IFCHR|0666, makedev(0x1, 0x3)) = -1 EEXIST (File exists)");
}

static void names(void **state)
{
	struct made m = CALL("openat", 3, 0xffffff9c, 0x1000, 0x80000, 0);

	(void)state;
	chunk(&m, 1, SYS_CHUNK_STR, 0, "/etc/passwd", 11);
	expect(m, "openat(AT_FDCWD, \"/etc/passwd\", O_RDONLY|O_CLOEXEC) = 3");
	m = CALL("openat", 3, 5, 0x1000, 0x241, 0644);
	chunk(&m, 1, SYS_CHUNK_STR, 0, "a\n\"b\x01" "7", 6);
	expect(m, "openat(5, \"a\\n\\\"b\\0017\", O_WRONLY|O_CREAT|O_TRUNC, 0644) = 3");
	expect(CALL("openat", -14, 5, 0x1000, 0x101002),
	       "openat(5, 0x1000, O_RDWR|O_SYNC) = -1 EFAULT (Bad address)");
	m = call(SYS_ABI_ARM64, "openat", 3, ARGS(0xffffff9c, 0x1000, 0x4000));
	expect(m, "openat(AT_FDCWD, 0x1000, O_RDONLY|O_DIRECTORY) = 3");
	expect(CALL("fchmod", 0, 4, 0100600), "fchmod(4, 0100600) = 0");
	expect(CALL("mknod", 0, 0, 0020600, 0x103), "mknod(NULL, S_IFCHR|0600, makedev(0x1, 0x3)) = 0");
	expect(CALL("socket", 3, 2, 0x80801, 6),
	       "socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC|SOCK_NONBLOCK, IPPROTO_TCP) = 3");
	expect(CALL("futex", 0, 0x10, 0x81, 1), "futex(0x10, FUTEX_WAKE_PRIVATE, 1) = 0");
	expect(CALL("clone", 5, 0x1200011, 0),
	       "clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD, "
	       "child_tidptr=NULL) = 5");
	expect(CALL("fcntl", 0, 3, 4, 0x802), "fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0");
	expect(CALL("fcntl", 0, 3, 2, 1), "fcntl(3, F_SETFD, FD_CLOEXEC) = 0");
	expect(CALL("fcntl", 9, 3, 1030, 8), "fcntl(3, F_DUPFD_CLOEXEC, 8) = 9");
	expect(CALL("mmap", 0x7000, 0, 4096, 3, 0x22, 0xffffffff, 0),
	       "mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7000");
	expect(CALL("mprotect", 0, 0x7000, 4096, 0), "mprotect(0x7000, 4096, PROT_NONE) = 0");
	expect(CALL("madvise", -22, 0x7000, 1, 999),
	       "madvise(0x7000, 1, 0x3e7 /* MADV_??? */) = -1 EINVAL (Invalid argument)");
}

/* Arguments whose kind depends on another argument. */
static void forms(void **state)
{
	const uint16_t size[4] = { 24, 80, 0, 0 };
	const int64_t ts[2] = { 1, 500 };
	const int32_t on = 1, refused = 111;
	struct made m = CALL("ioctl", 0, 1, 0x5413, 0x10);

	(void)state;
	chunk(&m, 2, SYS_CHUNK_MEM, 0, size, sizeof(size));
	expect(m, "ioctl(1, TIOCGWINSZ, {ws_row=24, ws_col=80, ws_xpixel=0, ws_ypixel=0}) = 0");
	expect(CALL("ioctl", -25, 1, 0x5413, 0x10),
	       "ioctl(1, TIOCGWINSZ, 0x10) = -1 ENOTTY (Inappropriate ioctl for device)");
	expect(CALL("ioctl", 0, 3, 0x5451, 0x10), "ioctl(3, FIOCLEX) = 0");
	m = CALL("ioctl", -99, 3, 0x8915, 0x10);	/* parts that the kernel did not fill in are not shown */
	chunk(&m, 2, SYS_CHUNK_MEM, 0, "lo\0cdefghijklmno\2\0abcdefghijklmnopqrstuv", 40);
	expect(m, "ioctl(3, SIOCGIFADDR, {ifr_name=\"lo\"}) = -1 EADDRNOTAVAIL (Cannot assign requested address)");
	m = CALL("ioctl", 0, 0, 0x5402, 0x10);
	chunk(&m, 2, SYS_CHUNK_MEM, 0, (const uint32_t[9]){ 0, 0x1800, 0xf, 0 }, 36);
	expect(m, "ioctl(0, SNDCTL_TMR_START or TCSETS, {c_iflag=, c_oflag=NL0|CR0|XTABS|BS0|VT0|FF0|, "
	       "c_cflag=B38400|CS5|, c_lflag=, ...}) = 0");
	m = CALL("bpf", 0, 15, 0x10, 16);
	chunk(&m, 1, SYS_CHUNK_MEM, 0, (const uint64_t[2]){ 232ull << 32 | 3, 0x7000 }, 16);
	expect(m, "bpf(BPF_OBJ_GET_INFO_BY_FD, {info={bpf_fd=3, info_len=232, info=0x7000}}, 16) = 0");
	m = CALL("bpf", -2, 11, 0x10, 12);
	chunk(&m, 1, SYS_CHUNK_MEM, 0, (const uint32_t[3]){ 7 }, 12);
	expect(m, "bpf(BPF_PROG_GET_NEXT_ID, {start_id=7, next_id=0, open_flags=0}, 12) "
	       "= -1 ENOENT (No such file or directory)");
	m = CALL("sched_setaffinity", 0, 0, 512, 0x10);
	chunk(&m, 2, SYS_CHUNK_MEM, 0, (const uint64_t[16]){ 5 }, 128);
	expect(m, "sched_setaffinity(0, 512, [0 2 ...]) = 0");
	m = CALL("sched_setaffinity", 0, 0, 512, 0x10);
	chunk(&m, 2, SYS_CHUNK_MEM, 0, (const uint64_t[32]){ [0] = 2, [16] = ~0ull, [31] = ~0ull }, 256);
	expect(m, "sched_setaffinity(0, 512, [1 ...]) = 0");	/* no record has more than 128 bytes */
	m = CALL("execve", -2, 0x10, 0x20, 0);
	chunk(&m, 1, SYS_CHUNK_STRV, 0, "a\0bc", 4);	/* its last string is unterminated */
	expect(m, "execve(0x10, [\"a\", \"bc\"], NULL) = -1 ENOENT (No such file or directory)");
	m = CALL("ioctl", 0, 3, 0x4020ae46, 0x10);
	chunk(&m, 2, SYS_CHUNK_MEM, 0, (const uint64_t[4]){ 2ull << 32 | 1, 0x1000, 4096, 0x7000 }, 32);
	expect(m, "ioctl(3, KVM_SET_USER_MEMORY_REGION, {slot=1, flags=KVM_MEM_READONLY, guest_phys_addr=0x1000, "
	       "memory_size=4096, userspace_addr=0x7000}) = 0");
	m = CALL("futex", -110, 0x10, 0x80, 5, 0x20);
	chunk(&m, 3, SYS_CHUNK_MEM, 0, ts, sizeof(ts));
	expect(m, "futex(0x10, FUTEX_WAIT_PRIVATE, 5, {tv_sec=1, tv_nsec=500}) "
	       "= -1 ETIMEDOUT (Connection timed out)");
	expect(CALL("fcntl", 1, 3, 1, 0x77), "fcntl(3, F_GETFD) = 0x1 (flags FD_CLOEXEC)");
	expect(CALL("fcntl", 0x8002, 3, 3), "fcntl(3, F_GETFL) = 0x8002 (flags O_RDWR|O_LARGEFILE)");
	expect(CALL("prctl", 1, 23, 21, 7, 8, 9), "prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN) = 1");
	m = CALL("setsockopt", 0, 3, 1, 2, 0x10, 4);
	chunk(&m, 3, SYS_CHUNK_DATA, 0, &on, sizeof(on));
	expect(m, "setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0");
	m = CALL("getsockopt", 0, 3, 1, 4, 0x10, 0x20);
	chunk(&m, 3, SYS_CHUNK_MEM, 0, &refused, sizeof(refused));
	expect(m, "getsockopt(3, SOL_SOCKET, SO_ERROR, [ECONNREFUSED], 0x20) = 0");
}

static void memory(void **state)
{
	struct made m = CALL("nanosleep", 0, 0x10, 0);
	const int64_t ts[2] = { 1, 500 };
	const int32_t pair[2] = { 3, 4 };
	const uint64_t set = 1ull << 1 | 1ull << 16, rlim[2] = { 1024, UINT64_MAX };
	const uint32_t status = 3 << 8, prio = 7;
	const struct { int32_t fd; uint16_t events, revents; } fds[2] = { { 3, 1, 1 }, { 4, 4, 0 } };
	const uint32_t epoll[3] = { 1, 5, 0 };
	const uint8_t bits[8] = { 0x09 };

	(void)state;
	chunk(&m, 0, SYS_CHUNK_MEM, 0, ts, sizeof(ts));
	expect(m, "nanosleep({tv_sec=1, tv_nsec=500}, NULL) = 0");
	m = CALL("pipe2", 0, 0x10, 0x80000);
	chunk(&m, 0, SYS_CHUNK_MEM, 0, pair, sizeof(pair));
	expect(m, "pipe2([3, 4], O_CLOEXEC) = 0");
	m = CALL("rt_sigprocmask", 0, 0, 0x10, 0, 8);
	chunk(&m, 1, SYS_CHUNK_MEM, 0, &set, sizeof(set));
	expect(m, "rt_sigprocmask(SIG_BLOCK, [INT CHLD], NULL, 8) = 0");
	m = CALL("prlimit64", 0, 0, 7, 0, 0x10);
	chunk(&m, 3, SYS_CHUNK_MEM, 0, rlim, sizeof(rlim));
	expect(m, "prlimit64(0, RLIMIT_NOFILE, NULL, {rlim_cur=1024, rlim_max=RLIM64_INFINITY}) = 0");
	m = CALL("wait4", 9, 0xffffffff, 0x10, 0, 0);
	chunk(&m, 1, SYS_CHUNK_MEM, 0, &status, sizeof(status));
	expect(m, "wait4(-1, [{WIFEXITED(s) && WEXITSTATUS(s) == 3}], 0, NULL) = 9");
	m = CALL("poll", 1, 0x10, 2, 0xffffffff);
	chunk(&m, 0, SYS_CHUNK_MEM, 0, fds, sizeof(fds));
	expect(m, "poll([{fd=3, events=POLLIN}, {fd=4, events=POLLOUT}], 2, -1) = 1 ([{fd=3, revents=POLLIN}])");
	m = CALL("epoll_wait", 1, 3, 0x10, 8, 0);
	chunk(&m, 1, SYS_CHUNK_MEM, 0, epoll, sizeof(epoll));
	expect(m, "epoll_wait(3, [{events=EPOLLIN, data={u32=5, u64=5}}], 8, 0) = 1");
	expect(CALL("epoll_wait", 0, 3, 0x10, 8, 0), "epoll_wait(3, [], 8, 0) = 0");
	m = CALL("select", 1, 4, 0x10, 0, 0, 0);
	chunk(&m, 1, SYS_CHUNK_MEM, 0, bits, sizeof(bits));
	expect(m, "select(4, [0 3], NULL, NULL, NULL) = 1");
	m = CALL("setsockopt", 0, 3, 1, 2, 0x10, 4);
	expect(m, "setsockopt(3, SOL_SOCKET, SO_REUSEADDR, 0x10, 4) = 0");
	m = CALL("mq_timedreceive", 2, 3, 0x10, 8, 0x20, 0);
	chunk(&m, 3, SYS_CHUNK_MEM, 0, &prio, sizeof(prio));
	expect(m, "mq_timedreceive(3, 0x10, 8, [7], NULL) = 2");
	m = CALL("nanosleep", -14, 0x10, 0);
	chunk(&m, 0, SYS_CHUNK_MEM, SYS_CHUNK_F_FAULT, "", 0);
	expect(m, "nanosleep(0x10, NULL) = -1 EFAULT (Bad address)");
}

static void bytes(void **state)
{
	struct made m = CALL("read", 3, 0, 0x10, 16);
	const uint64_t iov[4] = { 0x10, 3, 0x20, 4 };
	uint64_t msg[7] = { 0x30, 16, 0x40, 1, 0, 0, 0 };

	(void)state;
	chunk(&m, 1, SYS_CHUNK_DATA, 0, "a\0z", 3);
	expect(m, "read(0, \"a\\0z\", 16) = 3");
	m = CALL("write", 9, 1, 0x10, 9);
	chunk(&m, 1, SYS_CHUNK_DATA, SYS_CHUNK_F_CUT, "hell", 4);
	expect(m, "write(1, \"hell\"..., 9) = 9");
	m = CALL("writev", 7, 1, 0x10, 2);
	chunk(&m, 1, SYS_CHUNK_IOV, 0, iov, sizeof(iov));
	chunk(&m, 1, SYS_CHUNK_DATA, SYS_CHUNK_F_CUT, "abcde", 5);
	expect(m, "writev(1, [{iov_base=\"abc\", iov_len=3}, {iov_base=\"de\"..., iov_len=4}], 2) = 7");
	m = CALL("sendmsg", 3, 4, 0x10, 0x4000);
	chunk(&m, 1, SYS_CHUNK_MSGHDR, 0, msg, sizeof(msg));
	chunk(&m, 1, SYS_CHUNK_SOCKADDR, 0, "\x02\0\0\x35\x08\x08\x08\x08\0\0\0\0\0\0\0\0", 16);
	chunk(&m, 1, SYS_CHUNK_IOV, 0, iov, 16);
	expect(m, "sendmsg(4, {msg_name={sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr(\"8.8.8.8\")}, "
	       "msg_namelen=16, msg_iov=[{iov_base=0x10, iov_len=3}], msg_iovlen=1, msg_controllen=0, msg_flags=0}, "
	       "MSG_NOSIGNAL) = 3");
	m = CALL("execve", -2, 0x10, 0x20, 0x30);
	chunk(&m, 0, SYS_CHUNK_STR, 0, "/nope", 5);
	chunk(&m, 1, SYS_CHUNK_STRV, 0, "nope\0-x\0", 8);
	expect(m, "execve(\"/nope\", [\"nope\", \"-x\"], 0x30) = -1 ENOENT (No such file or directory)");
}

static void addresses(void **state)
{
	struct made m = CALL("connect", 0, 3, 0x10, 16);
	uint8_t in6[28] = { 10, 0, 0, 80, 0, 0, 0, 0, [23] = 1 };

	(void)state;
	chunk(&m, 1, SYS_CHUNK_SOCKADDR, 0, "\x02\0\x1f\x90\x7f\0\0\x01\0\0\0\0\0\0\0\0", 16);
	expect(m, "connect(3, {sa_family=AF_INET, sin_port=htons(8080), sin_addr=inet_addr(\"127.0.0.1\")}, 16) = 0");
	m = CALL("bind", 0, 3, 0x10, 28);
	chunk(&m, 1, SYS_CHUNK_SOCKADDR, 0, in6, sizeof(in6));
	expect(m, "bind(3, {sa_family=AF_INET6, sin6_port=htons(80), sin6_flowinfo=htonl(0), "
	       "inet_pton(AF_INET6, \"::1\", &sin6_addr), sin6_scope_id=0}, 28) = 0");
	m = CALL("connect", -2, 3, 0x10, 110);
	chunk(&m, 1, SYS_CHUNK_SOCKADDR, 0, "\x01\0/run/x\0\0", 10);
	expect(m,
	       "connect(3, {sa_family=AF_UNIX, sun_path=\"/run/x\"}, 110) = -1 ENOENT (No such file or directory)");
	m = CALL("connect", 0, 3, 0x10, 5);
	chunk(&m, 1, SYS_CHUNK_SOCKADDR, 0, "\x01\0\0ab", 5);
	expect(m, "connect(3, {sa_family=AF_UNIX, sun_path=@\"ab\"}, 5) = 0");
}

static void unknown(void **state)
{
	struct made m = { .rec = { .hdr = { .type = SYS_REC_EXIT, .flags = SONDE_RF_IDENT, .tid = 8 },
				   .nr = 511, .n_args = 6, .ret = -38, .args = { 1, 2, 3 } } };

	(void)state;
	expect(m, "syscall_0x1ff(0x1, 0x2, 0x3, 0, 0, 0) = -1 ENOSYS (Function not implemented)");
	m = call(SYS_ABI_I386, "read", 1, ARGS(0, 0x10, 16));
	expect(m, "read(0, 0x10, 16) = 1");
}

/* The same calls as 32-bit programs make them: words of four bytes, other layouts. */
static void narrow_structures(void **state)
{
	const int32_t time[2] = { 1, 500 }, itimer[4] = { 0, 0, 3, 4 };
	const uint32_t limit[2] = { 1024, UINT32_MAX }, iov[4] = { 0x10, 2, 0x20, 3 };
	uint32_t stat[16] = { 0x801, 7, 0x1 << 16 | 0x81a4, 0, 0, 99 };
	struct made m = call(SYS_ABI_I386, "nanosleep", 0, ARGS(0x10, 0));

	(void)state;
	chunk(&m, 0, SYS_CHUNK_MEM, 0, time, sizeof(time));
	expect(m, "nanosleep({tv_sec=1, tv_nsec=500}, NULL) = 0");
	m = call(SYS_ABI_I386, "setitimer", 0, ARGS(0, 0x10, 0));
	chunk(&m, 1, SYS_CHUNK_MEM, 0, itimer, sizeof(itimer));
	expect(m, "setitimer(ITIMER_REAL, {it_interval={tv_sec=0, tv_usec=0}, "
	       "it_value={tv_sec=3, tv_usec=4}}, NULL) = 0");
	m = call(SYS_ABI_I386, "getrlimit", 0, ARGS(7, 0x10));
	chunk(&m, 1, SYS_CHUNK_MEM, 0, limit, sizeof(limit));
	expect(m, "getrlimit(RLIMIT_NOFILE, {rlim_cur=1024, rlim_max=RLIM_INFINITY}) = 0");
	m = call(SYS_ABI_I386, "fstat", 0, ARGS(3, 0x10));
	chunk(&m, 1, SYS_CHUNK_MEM, 0, stat, sizeof(stat));
	expect(m, "fstat(3, {st_mode=S_IFREG|0644, st_size=99, ...}) = 0");
	m = call(SYS_ABI_I386, "writev", 5, ARGS(3, 0x10, 2));
	chunk(&m, 1, SYS_CHUNK_IOV, 0, iov, sizeof(iov));
	chunk(&m, 1, SYS_CHUNK_DATA, 0, "abcde", 5);
	expect(m, "writev(3, [{iov_base=\"ab\", iov_len=2}, {iov_base=\"cde\", iov_len=3}], 2) = 5");
	/* its layout there is unknown, so none of it is read */
	m = call(SYS_ABI_I386, "adjtimex", 0, ARGS(0x10));
	chunk(&m, 0, SYS_CHUNK_MEM, 0, stat, sizeof(stat));
	expect(m, "adjtimex(0x10) = 0 (TIME_OK)");
}

/* One record for many calls. The arguments of the first are in memory, which may be missing. */
static void calls_inside_calls(void **state)
{
	const uint32_t un[6] = { 1, 0x80001, 0, 77, 78, 79 }, send[6] = { 3, 0x10, 5, 0x4000 };
	struct made m = call(SYS_ABI_I386, "socketcall", 3, ARGS(1, 0x10));

	(void)state;
	chunk(&m, 1, SYS_CHUNK_MEM, 0, un, sizeof(un));
	expect(m, "socket(AF_UNIX, SOCK_STREAM|SOCK_CLOEXEC, 0) = 3");
	m = call(SYS_ABI_I386, "socketcall", -107, ARGS(9, 0x10));
	chunk(&m, 1, SYS_CHUNK_MEM, 0, send, sizeof(send));
	expect(m, "send(3, 0x10, 5, MSG_NOSIGNAL) = -1 ENOTCONN (Transport endpoint is not connected)");
	m = call(SYS_ABI_I386, "socketcall", -22, ARGS(21, 0x10));
	chunk(&m, 1, SYS_CHUNK_MEM, 0, un, sizeof(un));
	expect(m, "socketcall(0x15, [0x1, 0x80001, 0, 0x4d, 0x4e, 0x4f]) = -1 EINVAL (Invalid argument)");
	m = call(SYS_ABI_I386, "socketcall", -14, ARGS(1, 8));
	chunk(&m, 1, SYS_CHUNK_MEM, SYS_CHUNK_F_FAULT, "", 0);
	expect(m, "socketcall(SYS_SOCKET, 0x8) = -1 EFAULT (Bad address)");
	expect(call(SYS_ABI_I386, "ipc", 0, ARGS(23, 0, 4096, 01600)),
	       "shmget(IPC_PRIVATE, 4096, IPC_CREAT|0600) = 0");
	expect(call(SYS_ABI_I386, "ipc", 0, ARGS(24, 5, 0)), "shmctl(5, IPC_RMID, NULL) = 0");
	expect(call(SYS_ABI_I386, "ipc", -22, ARGS(1, 0xffffffff, 2, 0, 0x10, 0)),
	       "semop(-1, 0x10, 2) = -1 EINVAL (Invalid argument)");
	expect(call(SYS_ABI_I386, "ipc", 4, ARGS(12 | 1 << 16, 1, 4, 0x800, 0x10, 0xfffffff9)),
	       "msgrcv(1, 0x10, 4, -7, IPC_NOWAIT) = 4");
	/* these have arguments behind a pointer that was not followed */
	expect(call(SYS_ABI_I386, "ipc", 4, ARGS(12, 1, 4, 0, 0x10, 0)), "ipc(MSGRCV, 1, 0x4, 0, 0x10, 0) = 4");
	expect(call(SYS_ABI_I386, "ipc", 0, ARGS(3, 1, 0, 0, 0x10)), "ipc(SEMCTL, 1, 0, 0, 0x10, 0) = 0");
	expect(call(SYS_ABI_I386, "ipc", -38, ARGS(99, 1)),
	       "ipc(0x63, 1, 0, 0, NULL, 0) = -1 ENOSYS (Function not implemented)");
	expect(call(SYS_ABI_X86_64, "dup2", 7, ARGS(5, 7)), "dup2(5, 7) = 7");
}

static void several_messages(void **state)
{
	uint64_t one[7] = { 0, 0, 0x10, 1, 0, 0, 5ull << 32 }, iov[2] = { 0x20, 64 };
	struct made m = CALL("recvmmsg", 2, 3, 0x10, 4, 0, 0);

	(void)state;
	for (int i = 0; i < 2; i++) {
		one[6] = (5ull + (unsigned)i) << 32;
		chunk(&m, 1, SYS_CHUNK_MSGHDR, 0, one, sizeof(one));
		chunk(&m, 1, SYS_CHUNK_IOV, 0, iov, sizeof(iov));
		chunk(&m, 1, SYS_CHUNK_DATA, 0, i ? "fghijk" : "abcde", 5 + (unsigned)i);
	}
	expect(m, "recvmmsg(3, [{msg_hdr={msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base=\"abcde\", iov_len=64}], "
	       "msg_iovlen=1, msg_controllen=0, msg_flags=0}, msg_len=5}, {msg_hdr={msg_name=NULL, msg_namelen=0, "
	       "msg_iov=[{iov_base=\"fghijk\", iov_len=64}], msg_iovlen=1, msg_controllen=0, msg_flags=0}, "
	       "msg_len=6}], 4, 0, NULL) = 2");
}

static void broken_records(void **state)
{
	struct made m = CALL("read", 3, 0, 0x10, 16);
	struct got g = { 0 };

	(void)state;
	chunk(&m, 1, SYS_CHUNK_DATA, 0, "abc", 3);
	m.chunks[4] = 200; /* the chunk claims to be longer than the record */
	assert_int_equal(decode(&m, &g), -EBADMSG);
	m = CALL("read", 3, 0, 0x10, 16);
	m.rec.n_args = 7;
	assert_int_equal(decode(&m, &g), -EBADMSG);
	m.rec.n_args = 3;
	m.rec.abi = SYS_ABI__MAX;
	assert_int_equal(decode(&m, &g), -EBADMSG);
	assert_int_equal(g.line.len, 0);
}

static int note(void *ctx, struct event *ev)
{
	const struct line_opts o = { 0 };

	assert_int_equal(event_line(ev, &o, ctx), 0);
	return 0;
}

/* Its tail was added later: recordings without it lack the child and the fault. */
static void short_signals(void **state)
{
	struct sys_signal_rec r = { .hdr = { .type = SYS_REC_SIGNAL, .tid = 8 }, .signo = 17, .code = 1,
				    .from_pid = 9, .from_uid = 1000, .addr = 1, .utime = 2, .stime = 3, .status = 4 };
	const size_t before = offsetof(struct sys_signal_rec, addr);
	struct decode_set *d = NULL;
	struct buf text = { 0 };

	(void)state;
	assert_int_equal(before, 64);
	assert_int_equal(decode_set_new(decoders, &d), 0);
	r.hdr.len = (uint32_t)before;
	assert_int_equal(decode_record(d, &r, before, note, &text), 0);
	assert_non_null(strstr(buf_str(&text), "si_pid=9, si_uid=1000, si_status=0, si_utime=0, si_stime=0}"));
	text.len = 0;
	r.hdr.len = sizeof(r);
	assert_int_equal(decode_record(d, &r, sizeof(r), note, &text), 0);
	assert_non_null(strstr(buf_str(&text), "si_pid=9, si_uid=1000, si_status=4, si_utime=2"));
	text.len = 0;
	r.hdr.len = (uint32_t)before - 8;
	assert_int_equal(decode_record(d, &r, before - 8, note, &text), -EBADMSG);
	assert_int_equal(text.len, 0);
	decode_set_free(d);
	buf_fini(&text);
}

/*
 * A gap in the sequence numbers of one CPU becomes an event before the next record. Memory follows the rows in use,
 * not the highest CPU number.
 */
static void gaps(void **state)
{
	static const uint32_t seqs[] = { 5, 6, 10, 11 };
	struct made m = CALL("getpid", 12);
	struct decode_set *d = NULL;
	struct buf text = { 0 };
	struct mallinfo2 before;

	(void)state;
	m.rec.hdr.len = sizeof(m.rec);
	assert_int_equal(decode_set_new(decoders, &d), 0);
	before = mallinfo2();
	for (size_t i = 0; i < 4; i++) {
		m.rec.hdr.seq = seqs[i];
		assert_int_equal(decode_record(d, &m, m.rec.hdr.len, note, &text), 0);
		m.rec.hdr.cpu = UINT16_MAX;
		m.rec.hdr.seq = (uint32_t)i;
		assert_int_equal(decode_record(d, &m, m.rec.hdr.len, note, &text), 0);
		m.rec.hdr.cpu = 0;
	}
	assert_true(mallinfo2().uordblks + mallinfo2().hblkhd - before.uordblks - before.hblkhd < 65536);
	decode_set_free(d);
	assert_non_null(strstr(buf_str(&text), "sys.gap missing=3"));
	assert_null(strstr(strstr(buf_str(&text), "sys.gap") + 1, "sys.gap"));
	buf_fini(&text);
}

/* ---- libscap's parameters ---- */

static struct params params(struct made *m, struct got *g)
{
	struct params p;

	assert_int_equal(decode(m, g), 0);
	assert_int_equal(params_read(g->params.data, g->params.len, &p), 0);
	return p;
}

static void parameters(void **state)
{
	struct made m = CALL("openat", 3, 0xffffff9c, 0x10, 0x80241, 0644);
	const struct sys_file file = { .ino = 77, .dev = 0x800001 };
	struct got g = { 0 };
	struct params p;
	uint64_t u = 0;
	int64_t i = 0;
	size_t len;

	(void)state;
	chunk(&m, 1, SYS_CHUNK_STR, 0, "/etc/x", 6);
	chunk(&m, SYS_OF_RET, SYS_CHUNK_FILE, 0, &file, sizeof(file));
	p = params(&m, &g);
	assert_int_equal(p.head->type, SCAP_OPENAT_2_X);
	assert_int_equal(p.head->tid, 8);
	assert_true(params_i64(&p, 1, &i) && i == -100);
	assert_string_equal(params_str(&p, 2, &len), "/etc/x");
	assert_true(params_u64(&p, 3, &u) && u == (2 | 4 | 0x100 | 0x1000));
	assert_true(params_u64(&p, 4, &u) && u == 0644);
	assert_true(params_u64(&p, 6, &u) && u == 77);
	buf_fini(&g.line);
	buf_fini(&g.params);

	m = CALL("getpid", 12);
	p = params(&m, &g);
	assert_int_equal(p.head->type, SCAP_GENERIC_X);
	assert_true(params_u64(&p, 0, &u) && u == 16);
	assert_true(params_u64(&p, 1, &u) && u == 39);
	buf_fini(&g.line);
	buf_fini(&g.params);
}

/* Commands whose numbers differ between the kernel and libscap: each keeps its name. */
static void fcntl_commands(void **state)
{
	static const struct { unsigned native; uint8_t scap; } rows[] = {
		{ F_GETFL, SCAP_FLAG_F_GETFL }, { F_SETOWN_EX, SCAP_FLAG_F_SETOWN_EX },
		{ F_OFD_SETLK, SCAP_FLAG_F_OFD_SETLK }, { F_SETLEASE, SCAP_FLAG_F_SETLEASE },
		{ F_GETLEASE, SCAP_FLAG_F_GETLEASE }, { F_DUPFD_CLOEXEC, SCAP_FLAG_F_DUPFD_CLOEXEC },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct made m = CALL("fcntl", 0, 3, rows[i].native, 0);
		struct got g = { 0 };
		struct params p = params(&m, &g);
		uint64_t u = 0;

		assert_int_equal(p.head->type, SCAP_FCNTL_X);
		assert_true(params_u64(&p, 2, &u));
		assert_int_equal(u, rows[i].scap);
		buf_fini(&g.line);
		buf_fini(&g.params);
	}
}

static void tuple(void **state)
{
	struct made m = CALL("accept4", 5, 3, 0, 0, 0);
	const struct sys_sock sock = { .family = 2, .lport = 80, .rport = 4000, .laddr = { 10, 0, 0, 1 },
				       .raddr = { 10, 0, 0, 2 }, .queue_len = 1, .queue_max = 4 };
	const uint8_t want[13] = { 2, 10, 0, 0, 2, 0xa0, 0x0f, 10, 0, 0, 1, 80, 0 };
	struct got g = { 0 };
	struct params p;
	uint64_t u = 0;
	size_t len = 0;

	(void)state;
	chunk(&m, SYS_OF_RET, SYS_CHUNK_SOCK, 0, &sock, sizeof(sock));
	p = params(&m, &g);
	assert_int_equal(p.head->type, SCAP_ACCEPT4_5_X);
	assert_memory_equal(params_bytes(&p, 1, &len), want, sizeof(want));
	assert_int_equal(len, sizeof(want));
	assert_true(params_u64(&p, 2, &u) && u == 25);
	buf_fini(&g.line);
	buf_fini(&g.params);
}

/* Every source in the table fits the type of its parameter. */
static void mappings_fit_the_schema(void **state)
{
	unsigned checked = 0;

	(void)state;
	for (unsigned c = 0; c < sys_n_calls; c++) {
		const struct sys_mapping *m = sys_map_find(&sys_calls[c]);

		for (unsigned exit = 0; m && exit < 2; exit++) {
			const struct scap_event_info *info = scap_schema_event_info(m->type + exit);
			const char *src = exit ? m->exit : m->enter;

			assert_non_null(info);
			for (unsigned i = 0; *src != 'X' && src[2 * i]; i++, checked++) {
				unsigned type;

				if (i >= info->n_params)
					fail_msg("%s: parameter %u is not in the schema", m->call, i);
				type = info->params[i].type;
				if (src[2 * i] == 's' && type != PT_CHARBUF && type != PT_FSPATH &&
				    type != PT_FSRELPATH)
					fail_msg("%s: parameter %u is no text", m->call, i);
				if (src[2 * i] == 'T' && type != PT_SOCKTUPLE)
					fail_msg("%s: parameter %u is no tuple", m->call, i);
				if (src[2 * i] == 'd' && type != PT_BYTEBUF)
					fail_msg("%s: parameter %u is no bytes", m->call, i);
				if (src[2 * i] == 'A' && type != PT_SOCKADDR)
					fail_msg("%s: parameter %u is no address", m->call, i);
				if (strchr("OCPM", src[2 * i]) && type != PT_FLAGS32)
					fail_msg("%s: parameter %u is no flags", m->call, i);
			}
		}
	}
	assert_true(checked > 300);
}

/* ---- selection of calls ---- */

static void wanted(void **state)
{
	const char *list[] = { "openat,%net", "close" }, *negative[] = { "!read,write" }, *bad[] = { "opne" };
	struct sys_conf c = { .calls = { .items = list, .len = 2 } };
	uint8_t want[SYS_NUMBERS];
	struct err err = { 0 };

	(void)state;
	assert_int_equal(sys_conf_want(&c, SYS_ABI_X86_64, want, &err), 0);
	assert_true(want[257] && want[3] && want[41] && !want[0] && !want[2]);
	c.calls.items = negative;
	c.calls.len = 1;
	assert_int_equal(sys_conf_want(&c, SYS_ABI_X86_64, want, &err), 0);
	assert_true(!want[0] && !want[1] && want[2]);
	c.calls.items = bad;
	assert_int_equal(sys_conf_want(&c, SYS_ABI_X86_64, want, &err), -EINVAL);
}

static void tables(void **state)
{
	char name[24];

	(void)state;
	assert_string_equal(sys_table_call_name(SYS_ABI_X86_64, 0, name), "read");
	assert_string_equal(sys_table_call_name(SYS_ABI_ARM64, 56, name), "openat");
	assert_string_equal(sys_table_call_name(SYS_ABI_I386, 5, name), "open");
	assert_string_equal(sys_table_call_name(SYS_ABI_X32, 1, name), "write");
	assert_string_equal(sys_table_call_name(SYS_ABI_ARM, 1, name), "syscall_0x1");
	assert_null(sys_table_call_find(SYS_ABI_X86_64, SYS_NUMBERS));
	assert_int_equal(
		sys_table_struct_for((unsigned)(sys_table_call_named("fstat")->args[1].ref), SYS_ABI_ARM64)->size,
		128);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms),
		cmocka_unit_test(scalars), cmocka_unit_test(names), cmocka_unit_test(memory), cmocka_unit_test(bytes),
		cmocka_unit_test(addresses), cmocka_unit_test(unknown), cmocka_unit_test(narrow_structures),
		cmocka_unit_test(several_messages),
		cmocka_unit_test(calls_inside_calls), cmocka_unit_test(broken_records),
		cmocka_unit_test(parameters), cmocka_unit_test(fcntl_commands),
		cmocka_unit_test(tuple), cmocka_unit_test(mappings_fit_the_schema),
		cmocka_unit_test(wanted), cmocka_unit_test(tables), cmocka_unit_test(gaps),
		cmocka_unit_test(short_signals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
