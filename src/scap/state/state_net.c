// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sockets: addresses, roles and names. A descriptor's tuple goes from the client to the server; which end is which
 * is known from connect and accept, and guessed as sysdig does for datagrams.
 */
#include "scap/block.h"
#include "scap/state/state_tables.h"

bool state_net_read_end(struct cursor *c, uint8_t family, struct ipaddr *ret, uint16_t *ret_port)
{
	const uint8_t *addr = cur_bytes(c, family == SCAP_AF_INET ? 4 : 16);
	const uint16_t port = cur_u16(c);

	if (!cur_ok(c))
		return false;
	ipaddr_set(ret, family == SCAP_AF_INET ? SONDE_IPV4 : SONDE_IPV6, addr);
	*ret_port = port;
	return true;
}

static void add_ip(struct buf *b, const struct ipaddr *ip)
{
	if (!ip->family)
		buf_add_str(b, "0.0.0.0");
	else
		ipaddr_text(ip, b);
}

static bool is_server_type(const struct scap_fd *fd)
{
	return fd->type == FD_IPV4_SERVER || fd->type == FD_IPV6_SERVER;
}

void state_net_fd_name_socket(struct scap_state *st, struct scap_fd *fd)
{
	struct buf b = { 0 };
	bool ports = fd->l4 == SCAP_L4_TCP || fd->l4 == SCAP_L4_UDP;

	if (is_server_type(fd)) {
		add_ip(&b, &fd->dip);
		buf_printf(&b, ":%u", fd->dport);
	} else if (!ports && fd->l4 != SCAP_L4_ICMP && fd->l4 != SCAP_L4_RAW && !(fd->flags & SCAP_FD_FROM_ROW)) {
		buf_add_str(&b, "<unknown>");
	} else {
		add_ip(&b, &fd->sip);
		if (ports || fd->flags & SCAP_FD_FROM_ROW)
			buf_printf(&b, ":%u", fd->sport);
		buf_add_str(&b, "->");
		add_ip(&b, &fd->dip);
		if (ports || fd->flags & SCAP_FD_FROM_ROW)
			buf_printf(&b, ":%u", fd->dport);
	}
	state_fd_set_name(st, fd, b.data, b.len);
	buf_fini(&b);
}

void state_net_fd_swap_ends(struct scap_fd *fd)
{
	struct ipaddr ip = fd->sip;
	uint16_t port = fd->sport;

	fd->sip = fd->dip;
	fd->sport = fd->dport;
	fd->dip = ip;
	fd->dport = port;
}

bool state_net_fd_set_tuple(struct scap_fd *fd, struct cursor c, bool *ret_changed)
{
	struct ipaddr sip, dip, sip4, dip4;
	uint16_t sport, dport;
	uint8_t family = cur_u8(&c);

	if ((family != SCAP_AF_INET && family != SCAP_AF_INET6) || !state_net_read_end(&c, family, &sip, &sport) ||
	    !state_net_read_end(&c, family, &dip, &dport))
		return false;
	sip4 = sip;
	dip4 = dip;
	ipaddr_unmap(&sip4);
	ipaddr_unmap(&dip4);
	if (sip4.family == dip4.family) {
		sip = sip4;
		dip = dip4;
	}
	*ret_changed = !ipaddr_equal(&sip, &fd->sip) || !ipaddr_equal(&dip, &fd->dip) || sport != fd->sport ||
		       dport != fd->dport;
	fd->type = sip.family == SONDE_IPV4 ? FD_IPV4 : FD_IPV6;
	fd->sip = sip;
	fd->dip = dip;
	fd->sport = sport;
	fd->dport = dport;
	return true;
}

static bool is_zero4(const struct ipaddr *ip)
{
	uint32_t v;

	memcpy(&v, ip->addr, sizeof(v));
	return ip->family != SONDE_IPV6 && !v;
}

/*
 * Local address towards @peer: of an interface with that address, of one in its network, or the first non-loopback
 * one.
 */
static uint32_t own_address(const struct scap_state *st, uint32_t peer)
{
	for (size_t i = 0; i < st->ifaces.len; i++)
		if (st->ifaces.items[i].addr == peer)
			return peer;
	for (size_t i = 0; i < st->ifaces.len; i++)
		if ((st->ifaces.items[i].addr & st->ifaces.items[i].mask) == (peer & st->ifaces.items[i].mask))
			return st->ifaces.items[i].addr;
	for (size_t i = 0; i < st->ifaces.len; i++)
		if (st->ifaces.items[i].addr != 0x0100007f)
			return st->ifaces.items[i].addr;
	return 0;
}

/* An unconnected socket knows one end only. */
void state_net_fd_infer_address(const struct scap_state *st, struct scap_fd *fd)
{
	struct ipaddr *own, *peer;
	uint32_t known, found;

	if (fd->type != FD_IPV4 || (!is_zero4(&fd->sip) && !is_zero4(&fd->dip)))
		return;
	own = is_zero4(&fd->sip) ? &fd->sip : &fd->dip;
	peer = own == &fd->sip ? &fd->dip : &fd->sip;
	memcpy(&known, peer->addr, sizeof(known));
	found = own_address(st, known);
	if (found == known && fd->sport == fd->dport)
		return;
	ipaddr_set(own, SONDE_IPV4, (const uint8_t *)&found);
}

static uint8_t l4_of(int64_t type, int64_t protocol)
{
	bool raw = (type & 0xff) == 3;	/* SOCK_RAW; flags stand above */

	switch (protocol) {
	case 6: return raw ? SCAP_L4_RAW : SCAP_L4_TCP;
	case 17: return raw ? SCAP_L4_RAW : SCAP_L4_UDP;
	case 0: return (type & 0xff) == 1 ? SCAP_L4_TCP : (type & 0xff) == 2 ? SCAP_L4_UDP : 0;
	case 1: return raw ? SCAP_L4_RAW : SCAP_L4_ICMP;
	case 255: return SCAP_L4_RAW;
	default: return 0;
	}
}

static struct scap_fd *add_socket(struct fold *f, int64_t num, int64_t domain, int64_t type, int64_t protocol)
{
	uint8_t kind = domain == SCAP_AF_UNIX	   ? FD_UNIX
		       : domain == SCAP_AF_INET	   ? FD_IPV4
		       : domain == SCAP_AF_INET6   ? FD_IPV6
		       : domain == SCAP_AF_NETLINK ? FD_NETLINK
						   : 0;
	struct scap_fd *fd;

	if (!kind)
		return NULL;
	fd = state_fd_add(f->st, f->t, num, kind);
	if (!fd)
		return NULL;
	fd->l4 = kind == FD_IPV4 || kind == FD_IPV6 ? l4_of(type, protocol) : 0;
	f->fd = fd;
	return fd;
}

void state_net_fold_socket(struct fold *f)
{
	int64_t domain, type, protocol;

	if (f->res < 0 || !state_fold_number(f, 1, 0, &domain) || !state_fold_number(f, 2, 1, &type) ||
	    !state_fold_number(f, 3, 2, &protocol))
		return;
	if (add_socket(f, f->res, domain, type, protocol))
		f->v->fd_num = f->res;
}

void state_net_fold_socketpair(struct fold *f)
{
	uint64_t source = 0, peer = 0;
	int64_t num;

	if (f->res < 0)
		return;
	params_u64(f->p, 3, &source);
	params_u64(f->p, 4, &peer);
	for (unsigned i = 1; i <= 2; i++) {
		struct scap_fd *fd = params_i64(f->p, i, &num) ? state_fd_add(f->st, f->t, num, FD_UNIX) : NULL;

		if (!fd)
			return;
		fd->unix_source = source;
		fd->unix_dest = peer;
		if (i == 1)
			f->v->fd_num = num;
	}
}

static struct scap_fd *own(struct fold *f)
{
	f->fd = f->v->fd_num >= 0 ? state_fd_own(f->st, f->t, f->v->fd_num) : NULL;
	return f->fd;
}

static void name_text(struct fold *f, struct scap_fd *fd, struct cursor c)
{
	size_t len = cur_left(&c);
	const char *s = cur_bytes(&c, len);

	state_fd_set_name(f->st, fd, s, s ? strnlen(s, len) : 0);
}

static void name_address(struct fold *f, struct scap_fd *fd, const struct ipaddr *ip, uint16_t port)
{
	struct buf b = { 0 };

	add_ip(&b, ip);
	buf_printf(&b, ":%u", port);
	state_fd_set_name(f->st, fd, b.data, b.len);
	buf_fini(&b);
}

/* A port means that it is for listening. */
void state_net_fold_bind(struct fold *f)
{
	struct cursor c = params_cursor(f->p, 1);
	struct scap_fd *fd = f->res >= 0 ? own(f) : NULL;
	uint8_t family = cur_u8(&c);
	struct ipaddr ip;
	uint16_t port;

	if (!fd || !cur_ok(&c))
		return;
	if (family == SCAP_AF_UNIX) {
		name_text(f, fd, c);
		return;
	}
	if ((family != SCAP_AF_INET && family != SCAP_AF_INET6) || !state_net_read_end(&c, family, &ip, &port))
		return;
	name_address(f, fd, &ip, port);
	if (!port)
		return;
	ipaddr_unmap(&ip);
	fd->type = ip.family == SONDE_IPV4 ? FD_IPV4_SERVER : FD_IPV6_SERVER;
	fd->dip = ip;
	fd->dport = port;
	fd->role = SCAP_ROLE_SERVER;
}

static void set_unix(struct scap_fd *fd, struct cursor c)
{
	uint64_t source, dest;

	cur_skip(&c, 1);
	source = cur_u64(&c);
	dest = cur_u64(&c);
	if (!cur_ok(&c))
		return;
	fd->unix_source = source;
	fd->unix_dest = dest;
}

/* The address, where only the enter event has it: the call may fail slowly. */
void state_net_fold_connect_enter(struct fold *f)
{
	struct cursor c = params_cursor(f->p, 1);
	struct scap_fd *fd = f->p->n > 1 && cur_left(&c) ? own(f) : NULL;
	uint8_t family = cur_u8(&c);

	if (!fd)
		return;
	if (family == SCAP_AF_UNIX)
		name_text(f, fd, c);
	if ((family != SCAP_AF_INET && family != SCAP_AF_INET6) ||
	    !state_net_read_end(&c, family, &fd->dip, &fd->dport))
		return;
	ipaddr_unmap(&fd->dip);
	fd->type = fd->dip.family == SONDE_IPV4 ? FD_IPV4 : FD_IPV6;
}

/* Both pointers and the path of a unix socket's tuple, as readers print them. */
static void name_unix_tuple(struct fold *f, struct scap_fd *fd, struct cursor c)
{
	struct buf b = { 0 };
	uint64_t source, dest;
	const char *path;
	size_t len;

	cur_skip(&c, 1);
	source = cur_u64(&c);
	dest = cur_u64(&c);
	len = cur_left(&c);
	path = cur_bytes(&c, len);
	if (!path)
		return;
	buf_printf(&b, "%llx->%llx ", (unsigned long long)source, (unsigned long long)dest);
	buf_add(&b, path, strnlen(path, len));
	state_fd_set_name(f->st, fd, b.data, b.len);
	buf_fini(&b);
	fd->unix_source = source;
	fd->unix_dest = dest;
}

#define EINPROGRESS_NUM 115

void state_net_fold_connect(struct fold *f)
{
	struct cursor c = params_cursor(f->p, 1);
	struct scap_fd *fd = f->res >= 0 || f->res == -EINPROGRESS_NUM ? own(f) : NULL;
	bool changed = false;

	if (!fd)
		return;
	fd->flags |= SCAP_FD_CONNECTED;
	if (!cur_left(&c))
		return;
	if (state_net_fd_set_tuple(fd, c, &changed)) {
		if (changed && fd->role == SCAP_ROLE_SERVER && fd->l4 == SCAP_L4_UDP)
			state_net_fd_swap_ends(fd);
		state_net_fd_name_socket(f->st, fd);
	} else if (cur_peek(&c, 0) == SCAP_AF_UNIX) {
		name_unix_tuple(f, fd, c);
	} else {
		return;
	}
	if (fd->role == SCAP_ROLE_NONE)
		fd->role = SCAP_ROLE_CLIENT;
}

void state_net_fold_accept(struct fold *f)
{
	struct cursor c = params_cursor(f->p, 1);
	uint8_t family = cur_peek(&c, 0);
	struct scap_fd *fd;
	bool changed;

	if (f->res < 0)
		return;
	f->v->fd_num = f->res;
	if (family != SCAP_AF_INET && family != SCAP_AF_INET6 && family != SCAP_AF_UNIX)
		return;
	fd = state_fd_add(f->st, f->t, f->res, FD_UNIX);
	if (!fd)
		return;
	fd->flags |= SCAP_FD_CONNECTED;
	fd->role = SCAP_ROLE_SERVER;
	if (family == SCAP_AF_UNIX) {
		set_unix(fd, c);
		name_unix_tuple(f, fd, c);
	} else if (state_net_fd_set_tuple(fd, c, &changed)) {
		fd->l4 = SCAP_L4_TCP;
		state_net_fd_name_socket(f->st, fd);
	}
	f->fd = fd;
}

/* A datagram of an unknown socket. */
void state_net_fold_sendto_enter(struct fold *f)
{
	struct cursor c = params_cursor(f->p, 2);
	uint8_t family = cur_peek(&c, 0);

	if (!f->fd && f->v->fd_num >= 0 && (family == SCAP_AF_INET || family == SCAP_AF_INET6))
		add_socket(f, f->v->fd_num, family, 2, 17);
}

static bool io_fits(const struct scap_fd *fd)
{
	return !fd->name || !fd->name->len || fd->l4 != SCAP_L4_TCP;
}

/* Tuple that comes with the data: of a datagram, or of a connection older than the stream. */
static void io_tuple(struct fold *f, struct cursor c, bool incoming)
{
	struct scap_fd *fd = own(f);
	bool changed = false;

	if (!fd || !cur_left(&c))
		return;
	if (cur_peek(&c, 0) == SCAP_AF_UNIX) {
		fd->type = FD_UNIX;
		name_unix_tuple(f, fd, c);
		return;
	}
	if (!state_net_fd_set_tuple(fd, c, &changed) || !changed)
		return;
	if (!fd->l4)
		fd->l4 = SCAP_L4_UDP;
	state_net_fd_infer_address(f->st, fd);
	/* Whoever hears first serves, as readers of libscap guess it. */
	if (fd->role == SCAP_ROLE_NONE)
		fd->role = incoming ? SCAP_ROLE_SERVER : SCAP_ROLE_CLIENT;
	if (fd->role == (incoming ? SCAP_ROLE_CLIENT : SCAP_ROLE_SERVER))
		state_net_fd_swap_ends(fd);
	state_net_fd_name_socket(f->st, fd);
}

void state_net_fold_recvfrom(struct fold *f)
{
	if (f->res >= 0 && f->fd && io_fits(f->fd))
		io_tuple(f, params_cursor(f->p, 2), true);
}

void state_net_fold_recvmsg(struct fold *f)
{
	if (f->res >= 0 && f->fd && io_fits(f->fd))
		io_tuple(f, params_cursor(f->p, 3), true);
}

/* sendto and sendmsg have it in the enter event; later versions in the exit event too. */
void state_net_fold_send(struct fold *f)
{
	struct cursor c = f->p->n > 4 ? params_cursor(f->p, 4) : params_cursor(f->enter, 2);

	if (f->res >= 0 && f->fd && io_fits(f->fd))
		io_tuple(f, c, false);
}

void state_net_fold_getsockopt(struct fold *f)
{
	int64_t num;

	if (!params_i64(f->p, 1, &num))
		return;
	f->v->fd_num = num;
	f->fd = state_fd_find(f->st, f->t, num);
}
