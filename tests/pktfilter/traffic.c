// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See traffic.h. A packet socket's transmit ring (Linux Documentation/networking/packet_mmap.rst) gives packets
 * whose bytes behind the Ethernet header lie in page fragments.
 */
#include "traffic.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "battery.h"

#define FRAME_BYTES 2048
#define RING_FRAMES 64

struct traffic {
	int plain, ring, tun;	/* descriptors */
	unsigned out, in, tun_index;
	uint8_t *frames;	/* mapped */
	unsigned next;		/* frame */
};

DEFINE_CLEANUP(struct traffic *, traffic_free)

static int packet_socket(unsigned ifindex)
{
	struct sockaddr_ll addr = { .sll_family = AF_PACKET, .sll_ifindex = (int)ifindex };
	_cleanup_close_ int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static int map_ring(struct traffic *t)
{
	struct tpacket_req req = {
		.tp_block_size = FRAME_BYTES * RING_FRAMES, .tp_block_nr = 1, .tp_frame_size = FRAME_BYTES,
		.tp_frame_nr = RING_FRAMES,
	};
	void *p;

	if (setsockopt(t->ring, SOL_PACKET, PACKET_VERSION, &(int){ TPACKET_V2 }, sizeof(int)) < 0 ||
	    setsockopt(t->ring, SOL_PACKET, PACKET_TX_RING, &req, sizeof(req)) < 0)
		return -errno;
	p = mmap(NULL, req.tp_block_size, PROT_READ | PROT_WRITE, MAP_SHARED, t->ring, 0);
	if (p == MAP_FAILED)
		return -errno;
	t->frames = p;
	return 0;
}

static int open_tun(void)
{
	struct ifreq req = { .ifr_name = "sdtun", .ifr_flags = IFF_TUN | IFF_NO_PI };
	_cleanup_close_ int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, TUNSETIFF, &req) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static int run(char *const argv[])
{
	int status;
	pid_t pid;
	int r = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);

	if (r)
		return -r;
	return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -EIO;
}

static int link_up(char *name)
{
	return run((char *[]){ "ip", "link", "set", name, "up", NULL });
}

/* No addresses, hence no chatter of the host's own. */
static int make_links(void)
{
	FILE *f = fopen("/proc/sys/net/ipv6/conf/default/disable_ipv6", "we");
	int r;

	if (f) {
		fputs("1", f);
		fclose(f);
	}
	r = run((char *[]){ "ip", "link", "add", "sdout", "type", "veth", "peer", "name", "sdin", NULL });
	if (r == 0)
		r = link_up("sdout");
	return r == 0 ? link_up("sdin") : r;
}

static int set_up(struct traffic *t)
{
	int r;

	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	r = make_links();
	if (r < 0)
		return r;
	t->tun = open_tun();
	if (t->tun < 0)
		return t->tun;
	r = link_up("sdtun");
	if (r < 0)
		return r;
	t->out = if_nametoindex("sdout");
	t->in = if_nametoindex("sdin");
	t->tun_index = if_nametoindex("sdtun");
	t->plain = packet_socket(t->out);
	t->ring = packet_socket(t->out);
	if (t->plain < 0 || t->ring < 0)
		return t->plain < 0 ? t->plain : t->ring;
	return map_ring(t);
}

struct traffic *traffic_new(void)
{
	_cleanup_(traffic_freep) struct traffic *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return NULL;
	t->plain = t->ring = t->tun = -1;
	r = set_up(t);
	if (r < 0) {
		fprintf(stderr, "cannot set up a network namespace with veth and tun devices: %s\n", strerror(-r));
		return NULL;
	}
	return TAKE_PTR(t);
}

void traffic_free(struct traffic *t)
{
	if (!t)
		return;
	if (t->frames)
		munmap(t->frames, FRAME_BYTES * RING_FRAMES);
	cleanup_close(&t->plain);
	cleanup_close(&t->ring);
	cleanup_close(&t->tun);
	free(t);
}

unsigned traffic_veth_out(const struct traffic *t)
{
	return t->out;
}

unsigned traffic_veth_in(const struct traffic *t)
{
	return t->in;
}

unsigned traffic_tun(const struct traffic *t)
{
	return t->tun_index;
}

static int set_mark(int fd, uint32_t mark)
{
	return setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)) < 0 ? -errno : 0;
}

int traffic_send(struct traffic *t, const struct battery_packet *p, uint32_t mark)
{
	int r = set_mark(t->plain, mark);

	if (r < 0)
		return r;
	return send(t->plain, p->data, p->len, 0) < 0 ? -errno : 0;
}

int traffic_send_frags(struct traffic *t, const struct battery_packet *p, uint32_t mark)
{
	struct tpacket2_hdr *h = (struct tpacket2_hdr *)(t->frames + (size_t)t->next * FRAME_BYTES);
	int r = set_mark(t->ring, mark);

	if (r < 0)
		return r;
	if (__atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE) != TP_STATUS_AVAILABLE)
		return -EBUSY;
	t->next = (t->next + 1) % RING_FRAMES;
	memcpy((uint8_t *)h + TPACKET_ALIGN(sizeof(*h)), p->data, p->len);
	h->tp_len = p->len;
	__atomic_store_n(&h->tp_status, TP_STATUS_SEND_REQUEST, __ATOMIC_RELEASE);
	return send(t->ring, NULL, 0, 0) < 0 ? -errno : 0;
}

int traffic_write_tun(struct traffic *t, const struct battery_packet *p)
{
	return write(t->tun, p->data, p->len) < 0 ? -errno : 0;
}
