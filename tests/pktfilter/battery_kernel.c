// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The battery in the running kernel: every verdict of the spliced programs against libpcap's interpreter, by BPF
 * test-run and on real packets, in one piece and in page fragments, VLAN tags in the packet and beside it, at tc
 * hooks and at the drop hook. Prints counts; the exit status is 0 if all agree, 77 if it cannot run here.
 *
 *   pktfilter-battery [PART PARTS | EXPRESSION]
 *
 * Most of the time goes into waiting for the kernel to attach and detach, so parts are run beside each other.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "battery.h"
#include "kernel_wire.h"
#include "battery.skel.h"
#include "pktfilter/pktfilter.h"
#include "sonde/pktfilter_wire.h"
#include "sonde/wire.h"
#include "traffic.h"

#define N_PACKETS 1200
#define SEED 0xba77e54ULL
#define SKIP 77
#define TEST_RUN_MIN (14 + 40)	/* an Ethernet and an IPv6 header */
#define REPORTED_MAX 20	/* mismatches printed in full */

struct battery {
	unsigned part, parts;
	const char *only;		/* expression, NULL = all */
	uint32_t mark;			/* of packet 0 */
	struct battery_packet *l2, *l3;
	struct traffic *traffic;
	const char *expr;
	struct pktfilter *f;
	struct battery_bpf *bpf;
	struct bpf_link *links[5];
	unsigned unattached;	/* expressions that real packets did not see */
	uint64_t refused;	/* packets that a test-run does not take */
	uint64_t compared, mismatches, undecided, matched, missing;
	struct hook_count hooks[HOOK__MAX];
};

DEFINE_CLEANUP(struct pktfilter *, pktfilter_free)
DEFINE_CLEANUP(struct battery_bpf *, battery_bpf__destroy)

/*
 * A verdict that the kernel left to user space is made there on @readable bytes; if even those are too few, it counts
 * as undecided.
 */
static void judge(struct battery *b, const char *where, const struct battery_packet *p, uint32_t link, int got,
		  uint32_t readable)
{
	int want = pktfilter_match(b->f, link, p->data, p->len, p->len);

	b->compared++;
	b->matched += (uint64_t)want;
	if (got == PKTFILTER_UNDECIDED) {
		b->undecided++;
		got = pktfilter_verdict(b->f, link, p->data, readable, p->len);
	}
	if (got == want)
		return;
	if (b->mismatches++ < REPORTED_MAX)
		printf("MISMATCH at %s: \"%s\" says %d instead of %d on a packet of %u bytes\n", where, b->expr, got,
		       want, p->len);
}

/* ---- test-run ---- */

static int run_one(struct battery *b, const struct bpf_program *prog, const struct battery_packet *p, uint32_t link)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = p->data, .data_size_in = p->len, .repeat = 1);
	int r = bpf_prog_test_run_opts(bpf_program__fd(prog), &opts);

	/* kernels refuse test-runs on too little, each its own measure */
	if (r == -EINVAL && p->len < TEST_RUN_MIN) {
		b->refused++;
		return 0;
	}
	if (r < 0)
		return r;
	judge(b, "test-run", p, link, (int)opts.retval, p->len);
	return 0;
}

static int test_runs(struct battery *b)
{
	for (size_t i = 0; i < N_PACKETS; i++) {
		int r = run_one(b, b->bpf->progs.verdict_l2, &b->l2[i], SONDE_LINK_ETHERNET);

		if (r == 0)
			r = run_one(b, b->bpf->progs.verdict_l3, &b->l3[i], SONDE_LINK_RAW);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- real packets ---- */

static bool is_tag(uint32_t type)
{
	return type == 0x8100 || type == 0x88a8;
}

/* The kernel takes a tag out before it looks at a packet, and throws packets away that end in their tag. */
static bool reaches_ingress(const struct battery_packet *p)
{
	return !is_tag((uint32_t)p->data[12] << 8 | p->data[13]) || p->len >= 14 + 4 + 2;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Delivery is synchronous as a rule; the softirq thread may take over. */
static void wait_for(const struct battery *b, int hook, size_t i)
{
	uint64_t until = now_ns() + 200000000;

	while (!__atomic_load_n(&b->bpf->bss->verdicts[hook][i], __ATOMIC_ACQUIRE) && now_ns() < until)
		usleep(100);
}

static void judge_hook(struct battery *b, int hook, const char *where, size_t i, const struct battery_packet *p,
		       uint32_t link)
{
	int v;

	wait_for(b, hook, i);
	v = b->bpf->bss->verdicts[hook][i];
	if (v == 0) {
		b->missing++;
		if (b->missing < REPORTED_MAX)
			printf("MISSING at %s: packet %zu of %u bytes\n", where, i, p->len);
		return;
	}
	judge(b, where, p, link, v - 1, p->len);
}

static int send_all(struct battery *b, int (*send)(struct traffic *, const struct battery_packet *, uint32_t),
		    const char *out, const char *in, const char *drop)
{
	memset(b->bpf->bss->verdicts, 0, sizeof(b->bpf->bss->verdicts));
	for (size_t i = 0; i < N_PACKETS; i++) {
		int r = send(b->traffic, &b->l2[i], b->mark + (uint32_t)i);

		if (r < 0)
			return r;
		judge_hook(b, HOOK_EGRESS, out, i, &b->l2[i], SONDE_LINK_ETHERNET);
		if (reaches_ingress(&b->l2[i]))
			judge_hook(b, HOOK_INGRESS, in, i, &b->l2[i], SONDE_LINK_ETHERNET);
		judge_hook(b, HOOK_DROP, drop, i, &b->l2[i], SONDE_LINK_ETHERNET);
	}
	return 0;
}

static int write_all(struct battery *b)
{
	for (size_t i = 0; i < N_PACKETS; i++) {
		int r;

		b->bpf->bss->current = b->mark + (uint32_t)i;
		r = traffic_write_tun(b->traffic, &b->l3[i]);
		if (r < 0)
			return r;
		judge_hook(b, HOOK_L3, "tun ingress", i, &b->l3[i], SONDE_LINK_RAW);
		judge_hook(b, HOOK_L3_DROP, "tun drop", i, &b->l3[i], SONDE_LINK_RAW);
	}
	return 0;
}

static int attach(struct battery *b)
{
	struct battery_bpf *s = b->bpf;

	b->links[0] = bpf_program__attach_tcx(s->progs.judge_egress, (int)traffic_veth_out(b->traffic), NULL);
	b->links[1] = bpf_program__attach_tcx(s->progs.judge_ingress, (int)traffic_veth_in(b->traffic), NULL);
	b->links[2] = bpf_program__attach_tcx(s->progs.judge_l3, (int)traffic_tun(b->traffic), NULL);
	b->links[3] = bpf_program__attach(s->progs.judge_drop_l2);
	b->links[4] = bpf_program__attach(s->progs.judge_drop_l3);
	for (size_t i = 0; i < ARRAY_SIZE(b->links); i++) {
		if (!b->links[i])
			return -errno;
	}
	return 0;
}

static void detach(struct battery *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(b->links); i++) {
		bpf_link__destroy(b->links[i]);
		b->links[i] = NULL;
	}
}

static int real_packets(struct battery *b)
{
	int r = attach(b);

	if (r < 0) {
		detach(b);
		if (b->unattached++ == 0)
			printf("no real packets: cannot attach here: %s\n", strerror(-r));
		return 0;
	}
	r = send_all(b, traffic_send, "veth egress", "veth ingress", "veth drop");
	if (r == 0)
		r = send_all(b, traffic_send_frags, "veth egress, fragments", "veth ingress, fragments",
			     "veth drop, fragments");
	if (r == 0)
		r = write_all(b);
	for (size_t i = 0; i < HOOK__MAX; i++) {
		b->hooks[i].packets += b->bpf->bss->counts[i].packets;
		b->hooks[i].nonlinear += b->bpf->bss->counts[i].nonlinear;
		b->hooks[i].tagged += b->bpf->bss->counts[i].tagged;
	}
	detach(b);
	return r;
}

/* ---- all ---- */

static int run_expr(struct battery *b, const char *expr)
{
	_cleanup_(pktfilter_freep) struct pktfilter *f = NULL;
	_cleanup_(battery_bpf__destroyp) struct battery_bpf *bpf = battery_bpf__open();
	struct btf *btf = btf__load_vmlinux_btf();
	struct err err = { 0 };
	int r;

	r = bpf ? pktfilter_compile_here(expr, &f, &err) : -errno;
	if (bpf)
		bpf->rodata->mark_base = b->mark;
	if (r == 0)
		r = pktfilter_splice(bpf->obj, f, btf, &err);
	btf__free(btf);
	if (r >= 0)
		r = battery_bpf__load(bpf);
	if (r < 0) {
		printf("\"%s\": %s %s\n", expr, strerror(-r), err.msg);
		return r;
	}
	b->expr = expr;
	b->f = f;
	b->bpf = bpf;
	r = test_runs(b);
	if (r == 0)
		r = real_packets(b);
	if (r < 0)
		printf("\"%s\": %s\n", expr, strerror(-r));
	return r;
}

static bool is_mine(const struct battery *b, size_t i, const char *expr)
{
	return b->only ? !strcmp(b->only, expr) : i % b->parts == b->part;
}

/* Number of expressions run, or the first failure. */
static int run_list(struct battery *b, const char *const *exprs)
{
	int n = 0;

	for (size_t i = 0; exprs[i]; i++) {
		int r;

		if (!is_mine(b, i, exprs[i]))
			continue;
		r = run_expr(b, exprs[i]);
		if (r < 0)
			return r;
		n++;
	}
	return n;
}

static int run_all(struct battery *b)
{
	int n = run_list(b, battery_exprs), m;

	if (n < 0)
		return n;
	m = run_list(b, battery_user_exprs);
	return m < 0 ? m : n + m;
}

static void report(const struct battery *b, int exprs)
{
	static const char *const names[] = {
		[HOOK_EGRESS] = "veth egress", [HOOK_INGRESS] = "veth ingress", [HOOK_DROP] = "drop",
		[HOOK_L3] = "tun ingress", [HOOK_L3_DROP] = "tun drop",
	};
	_Static_assert(ARRAY_SIZE(names) == HOOK__MAX, "a name per hook");

	for (int i = 0; i < HOOK__MAX; i++)
		printf("%-12s %llu packets, %llu in fragments, %llu with a tag beside them\n", names[i],
		       b->hooks[i].packets, b->hooks[i].nonlinear, b->hooks[i].tagged);
	printf("test-run     %llu packets, %llu refused as too short\n",
	       2ull * N_PACKETS * (unsigned)exprs - (unsigned long long)b->refused, (unsigned long long)b->refused);
	printf("%d expressions, %d packets, %llu comparisons (%llu matches, %llu left to user space), %llu missing, "
	       "%llu mismatches\n",
	       exprs, 2 * N_PACKETS, (unsigned long long)b->compared, (unsigned long long)b->matched,
	       (unsigned long long)b->undecided, (unsigned long long)b->missing, (unsigned long long)b->mismatches);
}

int main(int argc, char **argv)
{
	struct battery b = { .parts = 1 };
	int n;

	if (argc == 3) {
		b.part = (unsigned)atoi(argv[1]);
		b.parts = (unsigned)atoi(argv[2]);
	} else if (argc == 2) {
		b.only = argv[1];
	}
	b.mark = BATTERY_MARK + b.part * BATTERY_PACKETS_MAX;

	if (geteuid() != 0) {
		printf("needs root: programs are loaded and a network namespace is made\n");
		return SKIP;
	}
	b.l2 = battery_packets(N_PACKETS, true, SEED);
	b.l3 = battery_packets(N_PACKETS, false, SEED);
	b.traffic = traffic_new();
	if (!b.l2 || !b.l3 || !b.traffic)
		return 1;
	n = run_all(&b);
	if (n >= 0)
		report(&b, n);
	traffic_free(b.traffic);
	free(b.l2);
	free(b.l3);
	return n <= 0 || b.mismatches || b.missing ? 1 : b.unattached ? SKIP : 0;
}
