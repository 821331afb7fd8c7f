// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Live events name the open file behind their descriptor, as the kernel's own table has it. Calls are not enough: a
 * descriptor may come by SCM_RIGHTS or pidfd_getfd, go by close_range or exec, or its call was filtered or lost.
 */
#include <netinet/in.h>
#include <string.h>

#include "base/macros.h"
#include "event/event.h"
#include "scap/block.h"
#include "scap/state/state_tables.h"

static uint8_t type_of(const struct sec_file *f)
{
	static const uint8_t types[FILE_KIND__MAX] = {
		[FILE_KIND_FILE] = FD_FILE_V2, [FILE_KIND_DIR] = FD_DIRECTORY, [FILE_KIND_CHAR] = FD_FILE_V2,
		[FILE_KIND_BLOCK] = FD_FILE_V2, [FILE_KIND_PIPE] = FD_FIFO, [FILE_KIND_LINK] = FD_FILE_V2,
		[FILE_KIND_UNIX] = FD_UNIX, [FILE_KIND_NETLINK] = FD_NETLINK, [FILE_KIND_EPOLL] = FD_EPOLL,
		[FILE_KIND_EVENTFD] = FD_EVENT, [FILE_KIND_SIGNALFD] = FD_SIGNAL, [FILE_KIND_TIMERFD] = FD_TIMER,
		[FILE_KIND_INOTIFY] = FD_INOTIFY, [FILE_KIND_USERFAULTFD] = FD_USERFAULT,
		[FILE_KIND_IO_URING] = FD_IO_URING, [FILE_KIND_PIDFD] = FD_PIDFD, [FILE_KIND_BPF] = FD_BPF,
		[FILE_KIND_MEMFD] = FD_MEMFD, [FILE_KIND_NAMESPACE] = FD_FILE_V2,
	};

	if (f->kind == FILE_KIND_INET)
		return f->conn.saddr.family == SONDE_IPV4 ? FD_IPV4 : FD_IPV6;
	return f->kind < ARRAY_SIZE(types) && types[f->kind] ? types[f->kind] : FD_UNSUPPORTED;
}

static bool is_named(uint8_t type)
{
	return type == FD_FILE || type == FD_FILE_V2 || type == FD_DIRECTORY;
}

static bool is_ip(uint8_t type)
{
	return type >= FD_IPV4 && type <= FD_IPV6_SERVER;
}

static bool is_same_type(uint8_t a, uint8_t b)
{
	return a == b || (is_named(a) && is_named(b)) || (is_ip(a) && is_ip(b));
}

static bool has_end(const struct scap_fd *fd, uint64_t end)
{
	return end && (end == fd->unix_source || end == fd->unix_dest);
}

/* @fd is what calls and rows say: its inode may be unknown, and a call may have had another file there. */
static bool may_be(const struct scap_fd *fd, const struct sec_file *f)
{
	if (!is_same_type(fd->type, type_of(f)))
		return false;
	if (fd->type == FD_UNIX && (fd->unix_source || fd->unix_dest))
		return has_end(fd, f->ends[0]) || has_end(fd, f->ends[1]);
	return !fd->ino || fd->ino == f->ino;
}

/* A file has several numbers in its life, but keeps its inode; all of anonymous inodes is one inode. */
static bool is_of(const struct scap_fd *fd, const struct sec_file *f)
{
	if (!fd->file)
		return may_be(fd, f);
	return fd->file == f->number ||
	       (fd->ino == f->ino && fd->file_dev == f->dev && is_same_type(fd->type, type_of(f)));
}

/* new_encode_dev() of the kernel, which libscap's parameters use. */
static uint32_t encoded(uint32_t dev)
{
	const uint32_t major = dev >> 20, minor = dev & 0xfffff;

	return (minor & 0xff) | major << 8 | (minor & ~0xffu) << 12;
}

static uint8_t l4_of(const struct conn *c)
{
	static const uint8_t numbers[UINT8_MAX + 1] = {
		[IPPROTO_TCP] = SCAP_L4_TCP, [IPPROTO_UDP] = SCAP_L4_UDP, [IPPROTO_ICMP] = SCAP_L4_ICMP,
		[IPPROTO_RAW] = SCAP_L4_RAW,
	};

	return numbers[c->proto];
}

/* Memory with a name counts as deleted in /proc/PID/fd, but has that name from memfd_create(). */
static size_t name_len(const struct sec_file *f)
{
	static const char deleted[] = " (deleted)";
	const size_t n = sizeof(deleted) - 1;

	if (f->kind != FILE_KIND_MEMFD || f->name_len < n || memcmp(f->name + f->name_len - n, deleted, n))
		return f->name_len;
	return f->name_len - n;
}

static struct scap_fd *add(struct scap_state *st, struct scap_thread *t, int64_t num, const struct sec_file *f)
{
	struct scap_fd *fd;

	state_fd_remove(st, t, num);
	fd = state_fd_add(st, t, num, type_of(f));
	if (!fd)
		return NULL;
	fd->flags = SCAP_FD_FROM_KERNEL;
	fd->dev = encoded(f->dev);
	if (f->kind == FILE_KIND_INET) {
		fd->sip = f->conn.saddr;
		fd->sport = f->conn.sport;
		fd->dip = f->conn.daddr;
		fd->dport = f->conn.dport;
		fd->l4 = l4_of(&f->conn);
	}
	fd->unix_source = f->ends[0];
	fd->unix_dest = f->ends[1];
	state_fd_set_name(st, fd, f->name, name_len(f));
	return fd;
}

void state_fd_file_follow(struct scap_state *st, struct scap_thread *t, const struct event *ev)
{
	const int64_t num = (int64_t)ev->keys.file_fd - 1;
	const struct sec_file *f = event_file(ev);
	struct scap_fd *fd;

	if (num < 0)
		return;
	fd = state_fd_find(st, t, num);
	if (!f) {	/* its description was lost */
		if (fd && fd->file && fd->file != ev->keys.file)
			state_fd_remove(st, t, num);
		return;
	}
	if (!fd || !is_of(fd, f))
		fd = add(st, t, num, f);
	if (!fd)
		return;
	fd->file = f->number;
	fd->file_dev = f->dev;
	fd->ino = f->ino;
}
