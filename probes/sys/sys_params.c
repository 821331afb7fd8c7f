// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Arguments of system calls as libscap's parameters, driven by the sources in sys_map.c.
 */
#include "probes/sys/sys_params.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "event/event.h"
#include "event/params.h"
#include "probes/sys/sys_body.h"
#include "probes/sys/sys_map.h"
#include "scap/schema.h"

#define PARAMS_BYTES 512 /* of a call's parameters without an allocation */

/* Flag of the kernel and its flag in libscap. */
struct bits { uint32_t native, scap; };

/* clang-format off */
#define SAME_NAME(name) { name, SCAP_FLAG_##name }

/* Flags of open() by ABI: x86 and arm64 number some of them differently. */
#define OPEN_BITS_SHARED \
	{ 0x40, SCAP_FLAG_O_CREAT }, { 0x400, SCAP_FLAG_O_APPEND }, { 0x1000, SCAP_FLAG_O_DSYNC }, \
	{ 0x80, SCAP_FLAG_O_EXCL }, { 0x800, SCAP_FLAG_O_NONBLOCK }, { 0x101000, SCAP_FLAG_O_SYNC }, \
	{ 0x200, SCAP_FLAG_O_TRUNC }, { 0x80000, SCAP_FLAG_O_CLOEXEC }, { 0x400000, SCAP_FLAG_O_TMPFILE }

static const struct bits open_bits[] = {
	OPEN_BITS_SHARED,
	{ 0x4000, SCAP_FLAG_O_DIRECT }, { 0x10000, SCAP_FLAG_O_DIRECTORY }, { 0x8000, SCAP_FLAG_O_LARGEFILE },
};
static const struct bits open_bits_arm64[] = {
	OPEN_BITS_SHARED,
	{ 0x10000, SCAP_FLAG_O_DIRECT }, { 0x4000, SCAP_FLAG_O_DIRECTORY }, { 0x20000, SCAP_FLAG_O_LARGEFILE },
};
static const struct bits clone_bits[] = {
	SAME_NAME(CLONE_FILES),	       SAME_NAME(CLONE_FS),
	SAME_NAME(CLONE_IO),	       SAME_NAME(CLONE_NEWIPC),
	SAME_NAME(CLONE_NEWNET),       SAME_NAME(CLONE_NEWNS),
	SAME_NAME(CLONE_NEWPID),       SAME_NAME(CLONE_NEWUTS),
	SAME_NAME(CLONE_PARENT),       SAME_NAME(CLONE_PARENT_SETTID),
	SAME_NAME(CLONE_PTRACE),       SAME_NAME(CLONE_SIGHAND),
	SAME_NAME(CLONE_SYSVSEM),      SAME_NAME(CLONE_THREAD),
	SAME_NAME(CLONE_UNTRACED),     SAME_NAME(CLONE_VM),
	SAME_NAME(CLONE_NEWUSER),      SAME_NAME(CLONE_CHILD_CLEARTID),
	SAME_NAME(CLONE_CHILD_SETTID), SAME_NAME(CLONE_SETTLS),
	SAME_NAME(CLONE_VFORK),	       SAME_NAME(CLONE_NEWCGROUP),
};
static const struct bits prot_bits[] = {
	SAME_NAME(PROT_READ),	     SAME_NAME(PROT_WRITE),	SAME_NAME(PROT_EXEC),
	{ 0x8, SCAP_FLAG_PROT_SEM }, SAME_NAME(PROT_GROWSDOWN), SAME_NAME(PROT_GROWSUP),
};
static const struct bits mmap_bits[] = {
	SAME_NAME(MAP_SHARED), SAME_NAME(MAP_PRIVATE), SAME_NAME(MAP_FIXED), SAME_NAME(MAP_ANONYMOUS),
	{ 0x40, SCAP_FLAG_MAP_32BIT },	/* x86 only */
	SAME_NAME(MAP_NORESERVE), SAME_NAME(MAP_POPULATE), SAME_NAME(MAP_NONBLOCK), SAME_NAME(MAP_GROWSDOWN),
	SAME_NAME(MAP_DENYWRITE), SAME_NAME(MAP_EXECUTABLE), SAME_NAME(MAP_LOCKED),
};
static const struct bits poll_bits[] = {
	SAME_NAME(POLLIN), SAME_NAME(POLLPRI), SAME_NAME(POLLOUT), SAME_NAME(POLLRDHUP), SAME_NAME(POLLERR),
	SAME_NAME(POLLHUP), SAME_NAME(POLLNVAL), SAME_NAME(POLLRDNORM), SAME_NAME(POLLRDBAND), SAME_NAME(POLLWRNORM),
	SAME_NAME(POLLWRBAND),
};
/* Commands of fcntl() are numbers, not flags. */
static const struct bits fcntl_cmds[] = {
	SAME_NAME(F_DUPFD), SAME_NAME(F_GETFD), SAME_NAME(F_SETFD), SAME_NAME(F_GETFL), SAME_NAME(F_SETFL),
	SAME_NAME(F_GETLK), SAME_NAME(F_SETLK), SAME_NAME(F_SETLKW), SAME_NAME(F_SETOWN), SAME_NAME(F_GETOWN),
	SAME_NAME(F_SETSIG), SAME_NAME(F_GETSIG), SAME_NAME(F_SETOWN_EX), SAME_NAME(F_GETOWN_EX),
	SAME_NAME(F_OFD_GETLK), SAME_NAME(F_OFD_SETLK), SAME_NAME(F_OFD_SETLKW), SAME_NAME(F_SETLEASE),
	SAME_NAME(F_GETLEASE), { 1029, SCAP_FLAG_F_CANCELLK }, SAME_NAME(F_DUPFD_CLOEXEC), SAME_NAME(F_NOTIFY),
	SAME_NAME(F_SETPIPE_SZ), SAME_NAME(F_GETPIPE_SZ),
};
/* clang-format on */

static uint32_t to_scap(const struct bits *b, size_t n, uint64_t v)
{
	uint32_t out = 0;

	for (size_t i = 0; i < n; i++)
		if ((v & b[i].native) == b[i].native)
			out |= b[i].scap;
	return out;
}
#define TO_SCAP(table, v) to_scap(table, ARRAY_SIZE(table), v)

static uint32_t open_flags(const struct sys_body *b, uint64_t v)
{
	uint32_t mode = (uint32_t)v & 3, out = mode < 3 ? mode + 1 : 0;

	return out | (b->abi == SYS_ABI_ARM64 ? TO_SCAP(open_bits_arm64, v) : TO_SCAP(open_bits, v));
}

uint32_t sys_params_open_flags(uint64_t native)
{
#if defined(__aarch64__)
	static const struct sys_body here = { .abi = SYS_ABI_ARM64 };
#else
	static const struct sys_body here = { .abi = SYS_ABI_X86_64 };
#endif

	return open_flags(&here, native);
}

static uint8_t fcntl_cmd(uint64_t v)
{
	for (size_t i = 0; i < ARRAY_SIZE(fcntl_cmds); i++)
		if (fcntl_cmds[i].native == v)
			return (uint8_t)fcntl_cmds[i].scap;
	return 0;
}

/* ---- parts ---- */

/* A number with the width of its type. */
static void add_number(struct params_out *o, unsigned type, uint64_t v)
{
	switch (type) {
	case PT_INT8: case PT_UINT8: case PT_FLAGS8: case PT_ENUM8: case PT_SIGTYPE:
		params_add_u8(o, (uint8_t)v);
		break;
	case PT_INT16: case PT_UINT16: case PT_FLAGS16: case PT_ENUM16: case PT_SYSCALLID:
		params_add_u16(o, (uint16_t)v);
		break;
	case PT_INT32: case PT_UINT32: case PT_FLAGS32: case PT_ENUM32: case PT_UID: case PT_GID: case PT_MODE:
	case PT_SIGSET: case PT_BOOL: case PT_FD32: case PT_PID32:
		params_add_u32(o, (uint32_t)v);
		break;
	case PT_FD: case PT_PID:
		params_add_u64(o, (uint64_t)(int64_t)(int32_t)v);
		break;
	default:
		params_add_u64(o, v);
		break;
	}
}

static void add_string(struct params_out *o, const struct sys_bytes *s)
{
	if (s->there && !(s->flags & SYS_CHUNK_F_FAULT && !s->len))
		params_add_str(o, (const char *)s->data, s->len);
	else
		params_add_str(o, NULL, 0);
}

/* Converts struct sockaddr; families without a format in libscap become an empty parameter. */
static void add_sockaddr(struct params_out *o, const struct sys_bytes *s)
{
	struct cursor c = cur_init(s->data, s->len);
	uint16_t family = cur_u16(&c), port;
	const char *path;
	size_t len;

	params_add(o, NULL, 0);
	if (!s->there || s->flags & SYS_CHUNK_F_FAULT || !cur_ok(&c))
		return;
	port = family == SCAP_AF_UNIX ? 0 : cur_u16be(&c);
	if (family == SCAP_AF_INET6)
		cur_skip(&c, 4);
	len = family == SCAP_AF_INET ? 4 : family == SCAP_AF_INET6 ? 16 : cur_left(&c);
	path = cur_bytes(&c, len);
	if (!path || (family != SCAP_AF_UNIX && family != SCAP_AF_INET && family != SCAP_AF_INET6))
		return;
	params_append(o, &(uint8_t){ (uint8_t)family }, 1);
	if (family != SCAP_AF_UNIX) {
		params_append(o, path, len);
		params_append(o, &port, sizeof(port));
		return;
	}
	params_append(o, path, strnlen(path, len));
	params_append(o, "", 1);
}

static bool sock_of(const struct sys_body *b, struct sys_sock *ret)
{
	for (unsigned arg = 0; arg <= SYS_OF_RET; arg++) {
		struct sys_bytes s = sys_body_chunk(b, arg, SYS_CHUNK_SOCK);
		struct cursor c = cur_init(s.data, s.len);

		if (s.there && cur_copy(&c, ret, sizeof(*ret)))
			return true;
	}
	*ret = (struct sys_sock){ 0 };
	return false;
}

/* Peer of a datagram: the address argument, which may differ from call to call. */
static void name_peer(const struct sys_body *b, struct sys_sock *s)
{
	size_t ip = s->family == SCAP_AF_INET ? 4 : 16;

	for (unsigned arg = 0; arg < 6; arg++) {
		struct sys_bytes a = sys_body_chunk(b, arg, SYS_CHUNK_SOCKADDR);
		struct cursor c = cur_init(a.data, a.len);
		uint16_t family = cur_u16(&c), port = cur_u16be(&c);

		if (!a.there || a.flags & SYS_CHUNK_F_FAULT || family != s->family)
			continue;
		cur_skip(&c, ip == 16 ? 4 : 0);
		if (cur_left(&c) < ip)
			continue;
		cur_copy(&c, s->raddr, ip);
		s->rport = port;
	}
}

#define IN_PROGRESS -115	/* -EINPROGRESS: the tuple of a non-blocking connect() is already known */

/* @inbound: the peer is the source. */
static void add_tuple(struct params_out *o, const struct sys_body *b, bool inbound)
{
	struct sys_sock s;
	size_t ip;

	params_add(o, NULL, 0);
	if (!sock_of(b, &s) || (sys_failed(b->ret) && b->ret != IN_PROGRESS))
		return;
	if (s.family == SCAP_AF_UNIX) {
		uint64_t ends[2] = { inbound ? s.peer_addr : s.kernel_addr, inbound ? s.kernel_addr : s.peer_addr };

		params_append(o, &(uint8_t){ SCAP_AF_UNIX }, 1);
		params_append(o, ends, sizeof(ends));
		params_append(o, s.path, strnlen(s.path, sizeof(s.path)));
		params_append(o, "", 1);
		return;
	}
	if (s.family != SCAP_AF_INET && s.family != SCAP_AF_INET6)
		return;
	name_peer(b, &s);
	ip = s.family == SCAP_AF_INET ? 4 : 16;
	params_append(o, &(uint8_t){ (uint8_t)s.family }, 1);
	params_append(o, inbound ? s.raddr : s.laddr, ip);
	params_append(o, inbound ? &s.rport : &s.lport, 2);
	params_append(o, inbound ? s.laddr : s.raddr, ip);
	params_append(o, inbound ? &s.lport : &s.rport, 2);
}

/* Total length of a vector. */
static uint32_t vector_bytes(const struct sys_body *b, unsigned arg)
{
	struct sys_bytes v = sys_body_chunk(b, arg, SYS_CHUNK_IOV);
	struct cursor c = cur_init(v.data, v.len);
	bool narrow = b->abi == SYS_ABI_I386;
	uint64_t sum = 0;

	while (cur_left(&c) >= (narrow ? 8u : 16u)) {
		cur_skip(&c, narrow ? 4 : 8);
		sum += narrow ? cur_u32(&c) : cur_u64(&c);
	}
	return (uint32_t)sum;
}

static void add_pollfds(struct params_out *o, const struct sys_body *b, unsigned arg, bool entered)
{
	struct sys_bytes m = sys_body_chunk(b, arg, SYS_CHUNK_MEM);
	struct cursor c = cur_init(m.data, m.len);
	uint16_t n = (uint16_t)(m.len / 8);

	params_add(o, &n, sizeof(n));
	for (unsigned i = 0; i < n; i++) {
		int64_t fd = (int32_t)cur_u32(&c);
		uint16_t events = cur_u16(&c), revents = cur_u16(&c);
		uint16_t flags = (uint16_t)TO_SCAP(poll_bits, entered ? events : revents);

		params_append(o, &fd, sizeof(fd));
		params_append(o, &flags, sizeof(flags));
	}
}

/* Size of one of the @n words behind an argument; 32-bit programs pass smaller ones. */
static unsigned word_size(const struct sys_body *b, unsigned arg, unsigned n)
{
	return sys_body_chunk(b, arg, SYS_CHUNK_MEM).len < 8 * n ? 4 : 8;
}

/* Word @i behind an argument; 0 if it was not read. */
static uint64_t word_at(const struct sys_body *b, unsigned arg, unsigned i, unsigned size)
{
	struct sys_bytes m = sys_body_chunk(b, arg, SYS_CHUNK_MEM);
	struct cursor c = cur_init(m.data, m.len);

	cur_skip(&c, (size_t)i * size);
	return size == 8 ? cur_u64(&c) : cur_u32(&c);
}

static uint64_t queue_of(const struct sys_body *b, unsigned what)
{
	struct sys_sock s;

	sock_of(b, &s);
	if (what == 0)
		return s.queue_max ? (uint64_t)s.queue_len * 100 / s.queue_max : 0;
	return what == 1 ? s.queue_len : s.queue_max;
}

static void get_file(const struct sys_body *b, struct sys_file *ret)
{
	*ret = (struct sys_file){ 0 };
	for (unsigned arg = 0; arg <= SYS_OF_RET; arg++) {
		struct sys_bytes f = sys_body_chunk(b, arg, SYS_CHUNK_FILE);
		struct cursor c = cur_init(f.data, f.len);

		if (f.there && cur_copy(&c, ret, sizeof(*ret)))
			return;
	}
}

static uint64_t memory_of(const struct sys_body *b, unsigned what)
{
	struct sys_image m;

	if (!sys_body_image(b, &m))
		return 0;
	return what == 0 ? m.proc.vm_size_kb : what == 1 ? m.proc.vm_rss_kb : m.proc.vm_swap_kb;
}

/* ---- the process after exec or clone ---- */

/* Turns "c\0b\0a\0" into /a/b/c. */
static void add_path(struct params_out *o, const uint8_t *parts, size_t len, bool rootless)
{
	params_add(o, NULL, 0);
	if (!len && !rootless)
		params_append(o, "/", 1);
	while (len > 0) {
		size_t end = parts[len - 1] ? len : len - 1, start = end;

		while (start > 0 && parts[start - 1])
			start--;
		params_append(o, "/", 1);
		params_append(o, parts + start, end - start);
		len = start;
	}
	params_append(o, "", 1);
}

static uint32_t clone_flags_of(const struct event *ev, const struct sys_body *b, const struct sys_image *m)
{
	const struct sys_call *call = sys_table_call_find(b->abi, b->nr);
	bool third = call && !strcmp(call->name, "clone3"), plain = call && !strcmp(call->name, "clone");
	uint64_t native = third ? word_at(b, 0, 0, 8) : plain ? b->args[0] : 0;

	if (ev->tid != ev->tgid && !b->ret) /* a new thread, even if the flags of its clone are unknown */
		native |= CLONE_THREAD;
	return TO_SCAP(clone_bits, native) | (m->proc.flags & SYS_PROC_IN_PIDNS ? SCAP_FLAG_CLONE_CHILD_IN_PIDNS : 0);
}

/* Parameters of exec and clone from the result to the cgroups. */
static void add_process(struct params_out *o, const struct event *ev, const struct sys_body *b,
			const struct sys_image *m)
{
	size_t exe = strnlen((const char *)m->args, m->proc.args_len), rest = MIN(exe + 1, (size_t)m->proc.args_len);

	params_add_u64(o, (uint64_t)b->ret);
	params_add_str(o, m->proc.args_len ? (const char *)m->args : m->proc.comm,
		       m->proc.args_len ? exe : strnlen(m->proc.comm, sizeof(m->proc.comm)));
	params_add(o, m->args + rest, m->proc.args_len - rest);
	params_add_u64(o, ev->tid);
	params_add_u64(o, ev->tgid);
	params_add_u64(o, m->proc.ppid);
	add_path(o, m->cwd, m->proc.cwd_len, m->proc.flags & SYS_PROC_CWD_ROOTLESS);
	params_add_u64(o, m->proc.fd_limit);
	params_add_u64(o, m->proc.maj_faults);
	params_add_u64(o, m->proc.min_faults);
	params_add_u32(o, (uint32_t)m->proc.vm_size_kb);
	params_add_u32(o, (uint32_t)m->proc.vm_rss_kb);
	params_add_u32(o, (uint32_t)m->proc.vm_swap_kb);
	params_add_str(o, m->proc.comm, strnlen(m->proc.comm, sizeof(m->proc.comm)));
	params_add(o, NULL, 0); /* cgroups: filled in from the state tables */
}

static void add_clone(struct params_out *o, const struct event *ev, const struct sys_body *b,
		      const struct sys_image *m)
{
	add_process(o, ev, b, m);
	params_add_u32(o, clone_flags_of(ev, b, m));
	params_add_u32(o, m->proc.uid);
	params_add_u32(o, m->proc.gid);
	params_add_u64(o, m->proc.vtid);
	params_add_u64(o, m->proc.vpid);
	params_add_u64(o, 0);
}

static void add_exec(struct params_out *o, const struct event *ev, const struct sys_body *b,
		     const struct sys_image *m)
{
	add_process(o, ev, b, m);
	params_add(o, m->env, m->proc.env_len);
	params_add_u32(o, m->proc.tty);
	params_add_u64(o, m->proc.pgid);
	params_add_u32(o, m->proc.loginuid);
	params_add_u32(o, m->proc.flags & SYS_PROC_EXE_WRITABLE ? 1 : 0);
	params_add_u64(o, m->proc.cap_inheritable);
	params_add_u64(o, m->proc.cap_permitted);
	params_add_u64(o, m->proc.cap_effective);
	params_add_u64(o, m->proc.exe_ino);
	params_add_u64(o, m->proc.exe_ctime_ns);
	params_add_u64(o, m->proc.exe_mtime_ns);
	params_add_u32(o, m->proc.uid);
	add_path(o, m->exe, m->proc.exe_len, m->proc.flags & SYS_PROC_EXE_ROOTLESS);
}

/* A failed call has no image, only a result. */
static void add_image(struct params_out *o, const struct event *ev, const struct sys_body *b, uint16_t type)
{
	struct sys_image m;

	if (!sys_body_image(b, &m))
		params_add_u64(o, (uint64_t)b->ret);
	else if (type == SCAP_EXECVE_19_X || type == SCAP_EXECVEAT_X)
		add_exec(o, ev, b, &m);
	else
		add_clone(o, ev, b, &m);
}

/* ---- one parameter ---- */

/* Kernel state of the file, socket or process, and memory. */
static void add_known(struct params_out *o, const struct sys_body *b, const char *src, unsigned type, bool entered)
{
	unsigned n = (unsigned)(src[1] - '0') < 6 ? (unsigned)(src[1] - '0') : 0;
	struct sys_file file;
	struct sys_sock sock;

	switch (src[0]) {
	case 'D':
	case 'I':
		get_file(b, &file);
		add_number(o, type, src[0] == 'D' ? file.dev : file.ino);
		break;
	case 'v':
		params_add_u32(o, (uint32_t)memory_of(b, n));
		break;
	case 't':
		params_add_u64(o, word_at(b, n, 0, word_size(b, n, 2)) * 1000000000ull +
				  word_at(b, n, 1, word_size(b, n, 2)));
		break;
	case 'z':
	case 'u':
		add_number(o, type, word_at(b, n, 0, src[0] == 'z' ? word_size(b, n, 1) : 4));
		break;
	case 'l':
		add_pollfds(o, b, n, entered);
		break;
	case 'p':
		params_add_u64(o, (uint64_t)(int64_t)(int32_t)word_at(b, b->n_args > 3 ? 3 : 0, n, 4));
		break;
	case 'q':
		add_number(o, type, queue_of(b, n));
		break;
	case 'S':
		params_add_u32(o, (uint32_t)word_at(b, n, 0, 8));
		break;
	case 'H':
		params_add_u32(o, n == 0 ? open_flags(b, word_at(b, 2, 0, 8)) : (uint32_t)word_at(b, 2, n, 8));
		break;
	case 'R':
		params_add_u64(o, word_at(b, n < 2 ? 2 : 3, n & 1, 8));
		break;
	case 'k':
		sock_of(b, &sock);
		params_add_u64(o, n ? sock.peer_addr : sock.kernel_addr);
		break;
	default:
		add_number(o, type, 0);
		break;
	}
}

static void add_one(struct params_out *o, const struct sys_body *b, const char *src, unsigned type, bool entered)
{
	unsigned n = (unsigned)(src[1] - '0') < 6 ? (unsigned)(src[1] - '0') : 0;
	struct sys_bytes bytes;

	switch (src[0]) {
	case 'r':
		params_add_u64(o, (uint64_t)b->ret);
		break;
	case 'a':
		add_number(o, type, b->args[n]);
		break;
	case 's':
		bytes = sys_body_chunk(b, n, SYS_CHUNK_STR);
		add_string(o, &bytes);
		break;
	case 'd':
	case 'c':
		bytes = sys_body_chunk(b, n, src[0] == 'd' ? SYS_CHUNK_DATA : SYS_CHUNK_CONTROL);
		params_add(o, bytes.data, bytes.len);
		break;
	case 'A':
		bytes = sys_body_chunk(b, n, SYS_CHUNK_SOCKADDR);
		add_sockaddr(o, &bytes);
		break;
	case 'T':
		add_tuple(o, b, src[1] == 'i');
		break;
	case 'O':
		params_add_u32(o, open_flags(b, b->args[n]));
		break;
	case 'C':
		params_add_u32(o, TO_SCAP(clone_bits, b->args[n]));
		break;
	case 'P':
		params_add_u32(o, TO_SCAP(prot_bits, b->args[n]));
		break;
	case 'M':
		params_add_u32(o, TO_SCAP(mmap_bits, b->args[n]));
		break;
	case 'F':
		params_add_u8(o, fcntl_cmd(b->args[n]));
		break;
	case 'V':
	case 'G':
		params_add_u32(o, !entered && b->ret >= 0 && scap_is_exit(o->head.type) ? (uint32_t)b->ret :
									vector_bytes(b, n));
		break;
	default:
		add_known(o, b, src, type, entered);
		break;
	}
}

static void add_generic(struct params_out *o, const struct sys_body *b, const struct sys_call *call)
{
	int id = call ? scap_schema_syscall_id(call->name) : -ENOENT;

	params_add_u16(o, id < 0 ? 0 : (uint16_t)id);
	params_add_u16(o, b->nr);
}

int sys_params_of(const struct event *ev, struct params_out *out)
{
	const struct sys_body *b = sys_body_of(ev);
	const struct sys_call *call = b ? sys_table_call_find(b->abi, b->nr) : NULL;
	const struct sys_mapping *m = sys_map_find(call);
	bool entered = sys_body_is_entry(ev);
	const struct scap_event_info *info;
	const char *src;
	uint16_t type;

	if (!b)
		return -ENOENT;
	type = (uint16_t)((m ? m->type : SCAP_GENERIC_E) + !entered);
	params_begin(out, type, ev->tid);
	if (!m) {
		add_generic(out, b, call);
		return 0;
	}
	src = entered ? m->enter : m->exit;
	if (*src == 'X') {
		add_image(out, ev, b, type);
		return 0;
	}
	info = scap_schema_event_info(type);
	for (unsigned i = 0; src[2 * i]; i++)
		add_one(out, b, src + 2 * i, info && i < info->n_params ? info->params[i].type : PT_UINT64,
			entered);
	return 0;
}

int sys_params_make(struct event *ev, unsigned kind, struct arena *scratch)
{
	char memory[PARAMS_BYTES];
	struct params_out out;
	const void *data;
	uint32_t len;
	int r;

	if (kind != SEC_PARAMS)
		return -ENOENT;
	params_out_in(&out, memory, sizeof(memory));
	r = sys_params_of(ev, &out);
	data = r < 0 ? NULL : params_finish(&out, scratch, &len);
	params_out_fini(&out);
	if (r < 0)
		return r;
	return data ? event_add_section(ev, SEC_PARAMS, data, len) : -ENOMEM;
}
