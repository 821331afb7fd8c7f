/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pcap-filter language: compiled by libpcap to classic BPF, run by us in two places. In user space by
 * the interpreter, in the kernel by conversion to eBPF and splicing into a pool of no-ops inside our own
 * programs (bpf/pktfilter.bpf.h).
 */
#ifndef PKTFILTER_PKTFILTER_H
#define PKTFILTER_PKTFILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_object;
struct bpf_program;
struct buf;
struct err;
struct pktfilter;

/* One expression compiled for both starts: packets with an Ethernet header and packets without. */
int pktfilter_compile(const char *expr, struct pktfilter **ret, struct err *err); /* caret under the word */
void pktfilter_free(struct pktfilter *f);

/* The verdict of libpcap's own interpreter. @link: SONDE_LINK_*. */
bool pktfilter_match(const struct pktfilter *f, uint32_t link, const void *data, uint32_t cap_len,
		     uint32_t orig_len);

/* Bytes from the packet's start that a verdict needs; UINT32_MAX when no bound is known. */
uint32_t pktfilter_depth(const struct pktfilter *f);

/* True if it can run in the kernel; else @why says in one sentence why it runs in user space. */
bool pktfilter_in_kernel(const struct pktfilter *f, char *why, size_t cap);

/* Text for --explain-filter: where it runs and why, classic and converted code. */
int pktfilter_explain(const struct pktfilter *f, struct buf *out);

#endif
