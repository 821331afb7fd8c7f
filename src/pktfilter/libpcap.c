// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libpcap's compiler and interpreter. The only file that includes pcap.h, whose struct bpf_program and struct
 * bpf_insn clash with those of libbpf and the kernel.
 *
 * The first expression loads the library: distributions link it to fifteen others, which would slow down the start of
 * every command.
 */
#include "pktfilter/pktfilter_filter.h"

#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <pcap/pcap.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/library/library.h"
#include "base/macros.h"
#include "pktfilter/pktfilter.h"

#define SNAPLEN 65535

/* libpcap's instruction has the kernel's layout. */
_Static_assert(sizeof(struct bpf_insn) == sizeof(struct sock_filter), "classic instruction");
_Static_assert(offsetof(struct bpf_insn, jt) == offsetof(struct sock_filter, jt), "classic instruction");
_Static_assert(offsetof(struct bpf_insn, k) == offsetof(struct sock_filter, k), "classic instruction");

static const int link_types[] = {
	[START_ETHERNET] = DLT_EN10MB,
	[START_IP] = DLT_RAW,
	[START_SLL] = DLT_LINUX_SLL,
	[START_SLL2] = DLT_LINUX_SLL2,
};
_Static_assert(sizeof(link_types) / sizeof(link_types[0]) == START__MAX, "a link type per start");

/* The functions in use; never unloaded. */
static struct pcap_calls {
	__typeof__(pcap_open_dead) *open_dead;
	__typeof__(pcap_compile) *compile;
	__typeof__(pcap_geterr) *geterr;
	__typeof__(pcap_freecode) *freecode;
	__typeof__(pcap_close) *close;
	__typeof__(bpf_filter) *filter;
	__typeof__(bpf_validate) *validate;
	__typeof__(bpf_image) *image;
} calls;

#define ROW(name, member) { name, offsetof(struct pcap_calls, member) }

static const struct library_symbol symbols[] = {
	ROW("pcap_open_dead", open_dead), ROW("pcap_compile", compile), ROW("pcap_geterr", geterr),
	ROW("pcap_freecode", freecode), ROW("pcap_close", close), ROW("bpf_filter", filter),
	ROW("bpf_validate", validate), ROW("bpf_image", image),
};
_Static_assert(ARRAY_SIZE(symbols) * sizeof(void *) == sizeof(struct pcap_calls), "a row per function");

int pktfilter_prepare(struct err *err)
{
	static const struct library libpcap = {
		.name = "libpcap", .package = "libpcap0.8",
		.files = { "libpcap.so.0.8", "libpcap.so.1", "libpcap.so" },
		.symbols = symbols, .n = ARRAY_SIZE(symbols),
	};
	int r = calls.image ? 0 : library_load(&libpcap, &calls, err);

	if (r < 0)
		err_prefix(err, "packet filter");
	return r;
}

/* Compiles with a dead handle: without kernel extensions, so that the code also applies to files. */
int libpcap_compile(const char *expr, enum filter_start start, struct sock_filter **ret, size_t *ret_n, char *why,
		    size_t cap)
{
	struct sock_filter *insns;
	struct bpf_program prog;
	pcap_t *p;

	if (pktfilter_prepare(NULL) < 0)
		return -ELIBACC;
	p = calls.open_dead(link_types[start], SNAPLEN);
	if (!p)
		return -ENOMEM;
	if (calls.compile(p, &prog, expr, 1, PCAP_NETMASK_UNKNOWN) < 0) {
		snprintf(why, cap, "%s", calls.geterr(p));
		calls.close(p);
		return -EINVAL;
	}
	insns = calloc(prog.bf_len, sizeof(*insns));
	if (insns) {
		memcpy(insns, prog.bf_insns, prog.bf_len * sizeof(*insns));
		*ret = insns;
		*ret_n = prog.bf_len;
	}
	calls.freecode(&prog);
	calls.close(p);
	return insns ? 0 : -ENOMEM;
}

bool libpcap_valid(const struct sock_filter *insns, size_t n)
{
	return n <= INT_MAX && calls.validate((const struct bpf_insn *)insns, (int)n);
}

uint32_t libpcap_run(const struct sock_filter *insns, const void *data, uint32_t cap_len, uint32_t orig_len)
{
	return calls.filter((const struct bpf_insn *)insns, data, orig_len, cap_len);
}

const char *libpcap_line(const struct sock_filter *insn, int i)
{
	return calls.image((const struct bpf_insn *)insn, i);
}
