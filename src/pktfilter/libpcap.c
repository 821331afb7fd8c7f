// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libpcap, reduced to its compiler and its interpreter. The only file that includes pcap.h: its struct
 * bpf_program and struct bpf_insn mean something else in libbpf and in the kernel's headers.
 */
#include "pktfilter/filter.h"

#include <errno.h>
#include <linux/filter.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


#define SNAPLEN 65535

/* libpcap's own instruction has the layout of the kernel's. */
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

/* A dead handle: no kernel extensions, so the code means the same here and in a file. */
int libpcap_compile(const char *expr, enum filter_start start, struct sock_filter **ret, size_t *ret_n, char *why,
		    size_t cap)
{
	pcap_t *p = pcap_open_dead(link_types[start], SNAPLEN);
	struct sock_filter *insns;
	struct bpf_program prog;

	if (!p)
		return -ENOMEM;
	if (pcap_compile(p, &prog, expr, 1, PCAP_NETMASK_UNKNOWN) < 0) {
		snprintf(why, cap, "%s", pcap_geterr(p));
		pcap_close(p);
		return -EINVAL;
	}
	insns = calloc(prog.bf_len, sizeof(*insns));
	if (insns) {
		memcpy(insns, prog.bf_insns, prog.bf_len * sizeof(*insns));
		*ret = insns;
		*ret_n = prog.bf_len;
	}
	pcap_freecode(&prog);
	pcap_close(p);
	return insns ? 0 : -ENOMEM;
}

uint32_t libpcap_run(const struct sock_filter *insns, const void *data, uint32_t cap_len, uint32_t orig_len)
{
	return bpf_filter((const struct bpf_insn *)insns, data, orig_len, cap_len);
}

const char *libpcap_line(const struct sock_filter *insn, int i)
{
	return bpf_image((const struct bpf_insn *)insn, i);
}
