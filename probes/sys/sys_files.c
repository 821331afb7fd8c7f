// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kind of an open file, and its name as /proc/PID/fd shows it.
 */
#include "probes/sys/sys_files.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/macros.h"

/* s_magic of file systems without directories (linux/magic.h). */
#define MAGIC_ANON 0x09041934u
#define MAGIC_PIPE 0x50495045u
#define MAGIC_PIDFS 0x50494446u
#define MAGIC_NSFS 0x6e736673u
#define MAGIC_TMPFS 0x01021994u
#define MAGIC_HUGETLBFS 0x958458f6u
#define MAGIC_SECRETMEM 0x5345434du

/* ---- names ---- */

/* Turns "c\0b\0a\0" into "/a/b/c". */
static void add_path(struct buf *out, const char *parts, size_t len)
{
	if (!len)
		buf_add_char(out, '/');
	while (len > 0) {
		size_t end = parts[len - 1] ? len : len - 1, start = end;

		while (start > 0 && parts[start - 1])
			start--;
		buf_add_char(out, '/');
		buf_add(out, parts + start, end - start);
		len = start;
	}
}

/* "10.0.0.1:40000->10.0.0.2:80", a listener "0.0.0.0:80", a unix socket its path. */
static void add_socket(struct buf *out, const struct sys_file_rec *r, struct sec_file *f)
{
	const struct sys_sock *s = &r->end;

	if (f->kind == FILE_KIND_UNIX) {
		buf_add(out, s->path, strnlen(s->path, sizeof(s->path)));
	} else if (f->kind == FILE_KIND_INET) {
		f->conn = (struct conn){ .sport = s->lport, .dport = s->rport, .proto = (uint8_t)s->proto };
		ipaddr_set(&f->conn.saddr, s->family == AF_INET ? SONDE_IPV4 : SONDE_IPV6, s->laddr);
		ipaddr_set(&f->conn.daddr, f->conn.saddr.family, s->raddr);
		ipaddr_port_text(&f->conn.saddr, s->lport, out);
		if (s->rport) {
			buf_add_str(out, "->");
			ipaddr_port_text(&f->conn.daddr, s->rport, out);
		}
	}
	if (!out->len)
		buf_printf(out, "socket:[%llu]", (unsigned long long)r->ino);
}

static void add_name(struct buf *out, const struct sys_file_rec *r, struct sec_file *f)
{
	const char *parts = (const char *)(r + 1);
	const bool alone = r->magic == MAGIC_TMPFS || r->magic == MAGIC_HUGETLBFS || r->magic == MAGIC_SECRETMEM;

	if (S_ISSOCK(r->mode)) {
		add_socket(out, r, f);
	} else if (r->magic == MAGIC_PIPE) {
		buf_printf(out, "pipe:[%llu]", (unsigned long long)r->ino);
	} else if (r->magic == MAGIC_ANON) {
		buf_add_str(out, "anon_inode:");
		buf_add(out, parts, strnlen(parts, r->path_len));
	} else if (r->magic == MAGIC_PIDFS) {
		buf_add_str(out, "anon_inode:[pidfd]");
	} else if (r->magic == MAGIC_NSFS) {
		buf_add(out, parts, strnlen(parts, r->path_len));
		buf_printf(out, ":[%llu]", (unsigned long long)r->ino);
	} else {
		add_path(out, parts, r->path_len);
		/* memory with a name (memfd, System V) counts as deleted; a directory without a parent is a root */
		if (r->flags & SYS_FILE_DELETED || (alone && r->flags & SYS_FILE_ALONE && !S_ISDIR(r->mode)))
			buf_add_str(out, " (deleted)");
	}
}

/* ---- kinds ---- */

static uint8_t kind_of_socket(const struct sys_sock *s)
{
	switch (s->family) {
	case AF_UNIX: return FILE_KIND_UNIX;
	case AF_INET:
	case AF_INET6: return FILE_KIND_INET;
	case AF_NETLINK: return FILE_KIND_NETLINK;
	case AF_PACKET: return FILE_KIND_PACKET;
	default: return FILE_KIND_SOCKET;
	}
}

static uint8_t kind_of_anon(const char *name, size_t len)
{
	static const struct { const char *name; uint8_t kind; } anon[] = {
		{ "[eventpoll]", FILE_KIND_EPOLL }, { "[eventfd]", FILE_KIND_EVENTFD },
		{ "[signalfd]", FILE_KIND_SIGNALFD }, { "[timerfd]", FILE_KIND_TIMERFD },
		{ "inotify", FILE_KIND_INOTIFY }, { "[fanotify]", FILE_KIND_FANOTIFY },
		{ "[userfaultfd]", FILE_KIND_USERFAULTFD }, { "[io_uring]", FILE_KIND_IO_URING },
		{ "[pidfd]", FILE_KIND_PIDFD }, { "[perf_event]", FILE_KIND_PERF_EVENT },
		{ "bpf-map", FILE_KIND_BPF }, { "bpf-prog", FILE_KIND_BPF }, { "bpf_link", FILE_KIND_BPF },
		{ "btf", FILE_KIND_BPF },
	};

	for (size_t i = 0; i < ARRAY_SIZE(anon); i++)
		if (strnlen(name, len) == strlen(anon[i].name) && !memcmp(name, anon[i].name, strlen(anon[i].name)))
			return anon[i].kind;
	return FILE_KIND_ANON;
}

static uint8_t kind_of(const struct sys_file_rec *r)
{
	const char *parts = (const char *)(r + 1);

	if (S_ISSOCK(r->mode))
		return kind_of_socket(&r->end);
	if (r->magic == MAGIC_ANON)
		return kind_of_anon(parts, r->path_len);
	if (r->magic == MAGIC_PIDFS)
		return FILE_KIND_PIDFD;
	if (r->magic == MAGIC_NSFS)
		return FILE_KIND_NAMESPACE;
	if ((r->magic == MAGIC_TMPFS || r->magic == MAGIC_HUGETLBFS) && r->flags & SYS_FILE_ALONE &&
	    r->path_len > 6 && !memcmp(parts, "memfd:", 6))
		return FILE_KIND_MEMFD;
	switch (r->mode & S_IFMT) {
	case S_IFREG: return FILE_KIND_FILE;
	case S_IFDIR: return FILE_KIND_DIR;
	case S_IFCHR: return FILE_KIND_CHAR;
	case S_IFBLK: return FILE_KIND_BLOCK;
	case S_IFIFO: return FILE_KIND_PIPE;
	case S_IFLNK: return FILE_KIND_LINK;
	default: return FILE_KIND_UNKNOWN;
	}
}

/* ---- the description ---- */

int sys_files_describe(const struct sys_file_rec *r, struct arena *scratch, const struct sec_file **ret,
		       uint32_t *ret_len)
{
	struct sec_file f = {
		.number = r->number, .ino = r->ino, .dev = r->dev, .rdev = r->rdev, .generation = r->ino_generation,
		.mode = r->mode, .open_flags = r->open_flags,
		.ends = { r->end.kernel_addr, r->end.peer_addr },
	};
	struct sec_file *made = NULL;
	struct buf name = { 0 };

	if (r->hdr.len < sizeof(*r) || r->path_len > r->hdr.len - sizeof(*r))
		return -EBADMSG;
	f.kind = kind_of(r);
	add_name(&name, r, &f);
	if (!buf_error(&name))
		made = arena_alloc(scratch, sizeof(f) + name.len);
	if (made) {
		f.name_len = (uint32_t)name.len;
		*made = f;
		memcpy(made->name, name.data, name.len);
		*ret = made;
		*ret_len = (uint32_t)(sizeof(f) + name.len);
	}
	buf_fini(&name);
	return made ? 0 : -ENOMEM;
}
