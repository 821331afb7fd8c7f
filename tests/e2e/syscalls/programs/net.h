/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets and waiting for them. */
#define PEER "{sa_family=AF_INET, sin_port=htons(9), sin_addr=inet_addr(\"127.0.0.1\")}"

static void do_net(void)
{
	static char room[64], name[] = "\x02\0\0\x09\x7f\0\0\x01\0\0\0\0\0\0\0";
	unsigned len = 16, one = 1;
	const unsigned long iov[2] = { P("data"), 4 };
	unsigned long msg[7] = { P(name), 16, P(iov), 1, 0, 0, 0 };
	struct { int fd; short events, revents; } poll = { -1, 1, 0 };
	long fd = C3(socket, "AF_INET, SOCK_DGRAM|SOCK_CLOEXEC, IPPROTO_IP", 2, 02000002, 0);

	C3(socket, "0x63 /* AF_??? */, SOCK_STREAM, 0", 99, 1, 0);
	C3(bind, "%ld, %p, 1", fd, P(name), 1, fd, (void *)name);
	C3(bind, "-1, " PEER ", 16", -1, P(name), 16);
	C3(connect, "%ld, " PEER ", 16", fd, P(name), 16,
	   fd);
	C2(listen, "-1, 5", -1, 5);
	C3(accept, "-1, NULL, NULL", -1, 0, 0);
	C4(accept4, "-1, NULL, NULL, SOCK_NONBLOCK", -1, 0, 0, 04000);
	C3(getpeername, "%ld, " PEER ", [16]", fd, P(room),
	   P(&len), fd);
	C3(getsockname, "-1, %p, [16]", -1, P(room), P(&len), (void *)room);
	C6(sendto, "%ld, \"data\", 4, MSG_NOSIGNAL, " PEER ", 16", fd, P("data"), 4, 0x4000, P(name), 16, fd);
	C6(recvfrom, "-1, %p, 64, MSG_DONTWAIT, NULL, NULL", -1, P(room), 64, 0x40, 0, 0, (void *)room);
	C3(sendmsg, "%ld, {msg_name=" PEER ", "
	   "msg_namelen=16, msg_iov=[{iov_base=\"data\", iov_len=4}], msg_iovlen=1, msg_controllen=0, msg_flags=0}, "
	   "MSG_NOSIGNAL", fd, P(msg), 0x4000, fd);
	C3(recvmsg, "-1, {msg_namelen=16}, MSG_DONTWAIT", -1, P(msg), 0x40);
	C4(sendmmsg, "-1, NULL, 1, 0", -1, 0, 1, 0);
	C5(recvmmsg, "-1, NULL, 1, 0, NULL", -1, 0, 1, 0, 0);
	C5(setsockopt, "%ld, SOL_SOCKET, SO_REUSEADDR, [1], 4", fd, 1, 2, P(&one), 4, fd);
	C5(getsockopt, "%ld, SOL_SOCKET, SO_TYPE, [2], [4]", fd, 1, 3, P(room), P(((unsigned[]){ 4 })), fd);
	C2(shutdown, "-1, SHUT_WR", -1, 1);
	C4(socketpair, "AF_UNIX, 0x9, 0, %p", 1, 9, 0, P(room), (void *)room);
	C3(poll, "[{fd=-1}], 1, 0", P(&poll), 1, 0);
	C5(ppoll, "[{fd=-1}], 1, {tv_sec=0, tv_nsec=0}, NULL, 8", P(&poll), 1,
	   P(((long[]){ 0, 0 })), 0, 8);
	C5(select, "0, NULL, NULL, NULL, {tv_sec=0, tv_usec=0}", 0, 0, 0, 0, P(((long[]){ 0, 0 })));
	C6(pselect6, "0, NULL, NULL, NULL, {tv_sec=0, tv_nsec=0}, NULL", 0, 0, 0, 0, P(((long[]){ 0, 0 })), 0);
	C1(close, "%ld", fd, fd);
}
