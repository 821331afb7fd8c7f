// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A dump has all sockets of a namespace. Those of the process are known by their inode numbers.
 */
#include "cmd/rpc/rpc_sockets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libmnl/libmnl.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "probes/net/net_ns.h"

#define BUFFER_BYTES 32768
/* include/net/tcp_states.h */
#define TCP_LISTEN_STATE 10
#define TCP_TIME_WAIT_STATE 6
#define STATES (0xfffu & ~(1u << TCP_LISTEN_STATE | 1u << TCP_TIME_WAIT_STATE))

static void close_socket(struct mnl_socket *s)
{
	mnl_socket_close(s);
}
DEFINE_CLEANUP(struct mnl_socket *, close_socket)

void rpc_sockets_fini(struct rpc_sockets *s)
{
	vec_fini(&s->all);
}

const struct rpc_socket *rpc_sockets_find(const struct rpc_sockets *s, uint64_t cookie)
{
	const struct rpc_socket key = { .cookie = cookie };

	return s->all.len ? bsearch(&key, s->all.items, s->all.len, sizeof(key), vec_by_u64) : NULL;
}

/* ---- which sockets ---- */

static int read_inodes(uint32_t pid, struct map *ret)
{
	_cleanup_(closedirp) DIR *dir = NULL;
	const struct dirent *e;
	char path[64], link[64];
	uint64_t inode;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/fd", pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while ((e = readdir(dir))) {
		n = readlinkat(dirfd(dir), e->d_name, link, sizeof(link) - 1);
		link[MAX(n, (ssize_t)0)] = '\0';
		if (sscanf(link, "socket:[%" SCNu64 "]", &inode) == 1 && !map_add(ret, &inode, NULL))
			return -ENOMEM;
	}
	return 0;
}

/* ---- the dump ---- */

struct dump {
	const struct map *inodes;
	struct rpc_sockets *sockets;
};

/* Kernels differ in the length of struct tcp_info: the counters are 64-bit numbers in the middle. */
static uint64_t bytes_of(const void *info, size_t len)
{
	struct tcp_info t = { 0 };

	memcpy(&t, info, MIN(len, sizeof(t)));
	return t.tcpi_bytes_acked + t.tcpi_bytes_received;
}

static int on_socket(const struct nlmsghdr *h, void *ctx)
{
	const struct inet_diag_msg *m = mnl_nlmsg_get_payload(h);
	const struct dump *d = ctx;
	struct rpc_socket s = { 0 };
	const struct nlattr *a;

	if (mnl_nlmsg_get_payload_len(h) < sizeof(*m))
		return MNL_CB_OK;
	s.inode = m->idiag_inode;
	if (!map_find(d->inodes, &s.inode))
		return MNL_CB_OK;
	s.cookie = (uint64_t)m->id.idiag_cookie[1] << 32 | m->id.idiag_cookie[0];
	mnl_attr_for_each(a, h, sizeof(*m))
		if (mnl_attr_get_type(a) == INET_DIAG_INFO)
			s.bytes = bytes_of(mnl_attr_get_payload(a), mnl_attr_get_payload_len(a));
	if (vec_push(&d->sockets->all, s) < 0) {
		errno = ENOMEM;
		return MNL_CB_ERROR;
	}
	return MNL_CB_OK;
}

static int send_request(struct mnl_socket *s, uint8_t family, char *buf)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct inet_diag_req_v2 *q;

	h->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	h->nlmsg_seq = family;
	q = mnl_nlmsg_put_extra_header(h, sizeof(*q));
	*q = (struct inet_diag_req_v2){ .sdiag_family = family,
					.sdiag_protocol = IPPROTO_TCP,
					.idiag_ext = 1 << (INET_DIAG_INFO - 1),
					.idiag_states = STATES };
	return mnl_socket_sendto(s, h, h->nlmsg_len) < 0 ? -errno : 0;
}

static int dump_family(struct dump *d, uint8_t family)
{
	_cleanup_(close_socketp) struct mnl_socket *s = mnl_socket_open2(NETLINK_SOCK_DIAG, SOCK_CLOEXEC);
	_cleanup_free_ char *buf = malloc(BUFFER_BYTES);
	int r = s && buf ? mnl_socket_bind(s, 0, MNL_SOCKET_AUTOPID) : -1;
	ssize_t n;

	r = r < 0 ? -errno : send_request(s, family, buf);
	if (r < 0)
		return r;
	do {
		n = mnl_socket_recvfrom(s, buf, BUFFER_BYTES);
		r = n < 0 ? -1 : mnl_cb_run(buf, (size_t)n, family, mnl_socket_get_portid(s), on_socket, d);
	} while (r > MNL_CB_STOP);
	return r < 0 ? -errno : 0;
}

static int dump_all(void *ctx)
{
	int r = dump_family(ctx, AF_INET);

	return r < 0 ? r : dump_family(ctx, AF_INET6);
}

int rpc_sockets_read(uint32_t pid, struct rpc_sockets *ret)
{
	struct map inodes;
	struct dump d = { .inodes = &inodes, .sockets = ret };
	_cleanup_close_ int ns = -1;
	char path[64];
	int r;

	map_init(&inodes, sizeof(uint64_t), 1);
	r = read_inodes(pid, &inodes);
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/ns/net", pid);
	ns = r < 0 ? r : open(path, O_RDONLY | O_CLOEXEC);
	if (r >= 0)
		r = ns < 0 ? -errno : net_ns_call(ns, dump_all, &d);
	map_fini(&inodes);
	if (r < 0) {
		rpc_sockets_fini(ret);
		*ret = (struct rpc_sockets){ 0 };
		return r;
	}
	vec_sort(&ret->all, vec_by_u64);
	return 0;
}
