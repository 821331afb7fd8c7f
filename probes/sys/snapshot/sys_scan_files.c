// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Descriptors in /proc/PID/fd, and their sockets in the tables of their network namespace. The tables are read once
 * per namespace, at its first unknown socket. Formats: proc(5), and Documentation/networking/proc_net_tcp.rst of the
 * kernel for /proc/net/tcp.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/str.h"
#include "probes/sys/sys_params.h"
#include "probes/sys/snapshot/sys_procfs.h"
#include "probes/sys/snapshot/sys_scan_tables.h"
#include "scap/block.h"
#include "scap/schema.h"

#define TABLE_MAX (64u << 20)	/* largest table of sockets, bytes */
#define TCP_LISTEN_STATE 10

/* ---- sockets ---- */

/* "0100007F:1F90": address words in host byte order. */
static bool read_end(const char *text, size_t words, uint8_t *ip, uint16_t *port)
{
	unsigned p;

	for (size_t i = 0; i < words; i++) {
		unsigned word;

		if (sscanf(text + 8 * i, "%8x", &word) != 1)
			return false;
		memcpy(ip + 4 * i, &word, 4);
	}
	if (sscanf(text + 8 * words, ":%4x", &p) != 1)
		return false;
	*port = (uint16_t)p;
	return true;
}

static bool is_zero(const uint8_t *ip)
{
	static const uint8_t zero[16];

	return !memcmp(ip, zero, sizeof(zero));
}

static void note_socket(struct scan *s, uint64_t inode, const struct scan_socket *sock)
{
	if (inode)
		map_put(&s->sockets, &inode, sock);
}

/* "  0: LOCAL REMOTE STATE tx:rx tr:when retransmits uid timeout inode ..." */
static void take_inet(struct scan *s, const char *line, uint8_t l4, uint8_t family)
{
	struct scan_socket sock = { .l4 = l4, .family = family };
	char local[64], remote[64];
	unsigned long long inode;
	unsigned state;
	bool server;

	if (sscanf(line, " %*d: %63s %63s %x %*s %*s %*s %*s %*s %llu", local, remote, &state, &inode) != 4 ||
	    strlen(local) < (family == SONDE_IPV4 ? 13u : 37u) || strlen(remote) < (family == SONDE_IPV4 ? 13u : 37u))
		return;
	if (!read_end(local, family == SONDE_IPV4 ? 1 : 4, sock.local, &sock.lport) ||
	    !read_end(remote, family == SONDE_IPV4 ? 1 : 4, sock.remote, &sock.rport))
		return;
	server = l4 == SCAP_L4_TCP ? state == TCP_LISTEN_STATE : is_zero(sock.remote);
	if (family == SONDE_IPV4)
		sock.type = server ? FD_IPV4_SERVER : FD_IPV4;
	else
		sock.type = server ? FD_IPV6_SERVER : FD_IPV6;
	note_socket(s, inode, &sock);
}

/* "ffff8881: 00000002 00000000 00010000 0001 01 12345 /path" */
static void take_unix(struct scan *s, const char *line, _unused_ uint8_t l4, _unused_ uint8_t family)
{
	struct scan_socket sock = { .type = FD_UNIX };
	unsigned long long address, inode;
	int at = 0;

	if (sscanf(line, "%llx: %*x %*x %*x %*x %*x %llu%n", &address, &inode, &at) != 2 || !at)
		return;
	sock.address = address;
	line += at;
	line += *line == ' ';
	sock.name_off = (uint32_t)s->names.len;
	sock.name_len = (uint32_t)strcspn(line, "\n");
	buf_add(&s->names, line, sock.name_len);
	if (!buf_error(&s->names))
		note_socket(s, inode, &sock);
}

/* "address protocol pid groups rmem wmem dump locks drops inode" */
static void take_netlink(struct scan *s, const char *line, _unused_ uint8_t l4, _unused_ uint8_t family)
{
	unsigned long long inode;

	if (sscanf(line, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &inode) != 1)
		return;
	note_socket(s, inode, &(struct scan_socket){ .type = FD_NETLINK });
}

static void scan_sockets(struct scan *s, int pid_fd)
{
	static const struct {
		const char *name;
		void (*take)(struct scan *s, const char *line, uint8_t l4, uint8_t family);
		uint8_t l4, family;
	} tables[] = {
		{ "net/tcp", take_inet, SCAP_L4_TCP, SONDE_IPV4 }, { "net/tcp6", take_inet, SCAP_L4_TCP, SONDE_IPV6 },
		{ "net/udp", take_inet, SCAP_L4_UDP, SONDE_IPV4 }, { "net/udp6", take_inet, SCAP_L4_UDP, SONDE_IPV6 },
		{ "net/raw", take_inet, SCAP_L4_RAW, SONDE_IPV4 }, { "net/raw6", take_inet, SCAP_L4_RAW, SONDE_IPV6 },
		{ "net/unix", take_unix, 0, 0 }, { "net/netlink", take_netlink, 0, 0 },
	};
	char space[64];
	uint64_t key;

	sys_procfs_link(pid_fd, "ns/net", space, sizeof(space));
	key = map_hash(space, strlen(space));
	if (map_note(&s->spaces, &key) <= 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		const char *line;

		if (sys_procfs_read(pid_fd, tables[i].name, &s->more, TABLE_MAX) <= 0)
			continue;
		line = strchr(s->more.data, '\n');
		for (; line && line[1]; line = strchr(line + 1, '\n'))
			tables[i].take(s, line + 1, tables[i].l4, tables[i].family);
	}
}

static void add_end(struct params_out *o, const uint8_t *ip, size_t len, uint16_t port)
{
	params_append(o, ip, len);
	params_append(o, &port, sizeof(port));
}

/* Name, tuple, address and protocol of the row: libscap's readers derive the names of internet sockets. */
static void add_socket(struct scan *s, const struct scan_socket *k)
{
	struct params_out *o = &s->out;
	const char *name = k->name_len ? s->names.data + k->name_off : "";
	const uint8_t family = k->type == FD_UNIX ? 1 : k->family == SONDE_IPV4 ? 2 : 10;
	size_t ip = k->family == SONDE_IPV4 ? 4 : 16;
	const uint64_t ends[2] = { k->address, 0 };

	params_add_str(o, name, k->name_len);
	params_add(o, NULL, 0);
	if (k->type == FD_UNIX) {
		params_append(o, &family, 1);
		params_append(o, ends, sizeof(ends));
		params_append(o, name, k->name_len);
		params_append(o, "", 1);
	} else if (k->type == FD_IPV4 || k->type == FD_IPV6) {
		params_append(o, &family, 1);
		add_end(o, k->local, ip, k->lport);
		add_end(o, k->remote, ip, k->rport);
	}
	params_add(o, NULL, 0);
	if (k->type == FD_IPV4_SERVER || k->type == FD_IPV6_SERVER) {
		params_append(o, &family, 1);
		add_end(o, k->local, ip, k->lport);
	}
	params_add_u8(o, k->l4);
}

/* ---- other descriptors ---- */

static uint8_t type_of_anonymous(const char *link)
{
	static const struct { const char *begin; uint8_t type; } kinds[] = {
		{ "anon_inode:[eventfd]", FD_EVENT }, { "anon_inode:[signalfd]", FD_SIGNAL },
		{ "anon_inode:[eventpoll]", FD_EPOLL }, { "anon_inode:inotify", FD_INOTIFY },
		{ "anon_inode:[timerfd]", FD_TIMER }, { "anon_inode:[userfaultfd]", FD_USERFAULT },
		{ "anon_inode:[io_uring]", FD_IO_URING }, { "anon_inode:bpf", FD_BPF },
		{ "anon_inode:[pidfd]", FD_PIDFD }, { "pidfd:", FD_PIDFD },
		{ "/memfd:", FD_MEMFD }, { "pipe:", FD_FIFO },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strncmp(link, kinds[i].begin, strlen(kinds[i].begin)))
			return kinds[i].type;
	return FD_UNSUPPORTED;
}

/* Flags from fdinfo ("flags:\t0100002", octal) in libscap's bits. */
static uint32_t flags_of(struct scan *s, int pid_fd, uint32_t num)
{
	const char *line;
	char name[48];

	snprintf(name, sizeof(name), "fdinfo/%u", num);
	if (sys_procfs_read(pid_fd, name, &s->text, 4096) <= 0)
		return 0;
	line = strstr(s->text.data, "flags:");
	return line ? sys_params_open_flags(strtoull(line + 6, NULL, 8)) : 0;
}

/* A file by its link. Device and type would need a stat() of its file system, which may block: they stay unknown. */
static void add_file(struct scan *s, int pid_fd, int dir_fd, uint32_t num, const char *link, size_t len)
{
	uint32_t flags = 0, dev = 0;
	uint8_t type;
	uint64_t ino = 0;
	struct statx st;
	char name[16];

	snprintf(name, sizeof(name), "%u", num);
	if (statx(dir_fd, name, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &st) == 0) {
		ino = st.stx_ino;
		dev = st.stx_dev_major << 20 | st.stx_dev_minor;
	} else {
		st.stx_mode = 0;
	}
	type = *link == '/' && strncmp(link, "/memfd:", 7) != 0 ? FD_FILE_V2 : type_of_anonymous(link);
	if (type == FD_FILE_V2 && S_ISDIR(st.stx_mode))
		type = FD_DIRECTORY;
	if (type == FD_FILE_V2 && S_ISFIFO(st.stx_mode))
		type = FD_FIFO;
	if (type == FD_FILE_V2 || type == FD_DIRECTORY)
		flags = flags_of(s, pid_fd, num);
	params_add_u64(&s->out, ino);
	params_add_u8(&s->out, type);
	params_add_str(&s->out, link, len);
	params_add(&s->out, NULL, 0);
	params_add(&s->out, NULL, 0);
	params_add_u8(&s->out, 0);
	params_add_u32(&s->out, flags);
	params_add_u32(&s->out, type == FD_FILE_V2 || type == FD_DIRECTORY ? dev : 0);
}

static int send_file(struct scan *s, int pid_fd, int dir_fd, uint32_t pid, uint32_t num)
{
	const struct scan_socket *sock = NULL;
	char link[PATH_MAX], name[16];
	uint64_t inode = 0;
	size_t len;

	snprintf(name, sizeof(name), "%u", num);
	len = sys_procfs_link(dir_fd, name, link, sizeof(link));
	if (!len)
		return 0;
	if (!strncmp(link, "socket:[", 8)) {
		inode = strtoull(link + 8, NULL, 10);
		scan_sockets(s, pid_fd);
		sock = map_find(&s->sockets, &inode);
	}
	params_begin(&s->out, SCAP_ROW_FD, -1);
	params_add_u64(&s->out, pid);
	params_add_u64(&s->out, num);
	if (sock) {
		params_add_u64(&s->out, inode);
		params_add_u8(&s->out, sock->type);
		add_socket(s, sock);
		params_add_u32(&s->out, 0);
		params_add_u32(&s->out, 0);
	} else {
		add_file(s, pid_fd, dir_fd, num, link, len);
	}
	return s->fn(s->ctx, &s->out);
}

int sys_scan_files_of(struct scan *s, int pid_fd, uint32_t pid)
{
	/* none: a kernel thread, or the process has exited */
	_cleanup_(closedirp) DIR *dir = io_opendir(pid_fd, "fd");
	struct dirent *e;
	uint32_t num;
	int r = 0;

	while (dir && r >= 0 && (e = readdir(dir)))
		if (isdigit((unsigned char)e->d_name[0]) && str_to_u32(e->d_name, 10, &num) == 0)
			r = send_file(s, pid_fd, dirfd(dir), pid, num);
	return r;
}
