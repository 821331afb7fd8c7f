/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pcap-filter language: compiled by libpcap to classic BPF, run by us in two places. In user space by
 * libpcap's interpreter, in the kernel by conversion to eBPF and splicing into a pool of no-ops inside our own
 * programs (bpf/pktfilter.bpf.h).
 */
#ifndef PKTFILTER_PKTFILTER_H
#define PKTFILTER_PKTFILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_object;
struct btf;
struct buf;
struct err;
struct pktfilter;

/*
 * One expression compiled for each start that a packet can have: Ethernet header, IP header, Linux "cooked"
 * headers of capture files. A word that means nothing without an Ethernet header (`ether host`, `vlan`) makes
 * the expression match no packet that lacks one. @expr "" matches all. On failure @err names the problem, then the
 * expression with a caret under the word; -EINVAL: the expression is wrong; -EOPNOTSUPP: it asks for facts that
 * packet bytes do not have (inbound, ifname).
 *
 * libpcap runs in a worker process without rights and with at most @cpu_ns of processor time (-ETIMEDOUT): its
 * optimizer takes minutes for 800 addresses. The worker cannot look up names of hosts, ports and protocols: -ENOKEY
 * then (pktfilter_resolve()).
 */
int pktfilter_compile(const char *expr, uint64_t cpu_ns, struct pktfilter **ret, struct err *err);

/*
 * Writes @expr to @ret with the names of hosts, networks, ports and protocols replaced by numbers. It asks this
 * host's resolver, which may block.
 */
int pktfilter_resolve(const char *expr, uint64_t cpu_ns, struct buf *ret, struct err *err);

/* As pktfilter_compile(), in the calling process. For tests. */
int pktfilter_compile_here(const char *expr, struct pktfilter **ret, struct err *err);
/* Loads the compiler's library now: for a process that may not load code later. 0, -ELIBACC: it is not there. */
int pktfilter_prepare(void);
void pktfilter_free(struct pktfilter *f);

/* As bpf_filter() of libpcap decides on these bytes. @link: SONDE_LINK_*; false for one that is not known. */
bool pktfilter_match(const struct pktfilter *f, uint32_t link, const void *data, uint32_t cap_len,
		     uint32_t orig_len);

/*
 * As pktfilter_match(), but tells PKTFILTER_REJECT from PKTFILTER_UNDECIDED: the captured bytes are too few to
 * know. PKTFILTER_PASS on cut bytes is certain.
 */
int pktfilter_verdict(const struct pktfilter *f, uint32_t link, const void *data, uint32_t cap_len,
		      uint32_t orig_len);

/* True if @expr reads no byte of a packet but those of fixed headers; false when that is not certain. */
bool pktfilter_headers_only(const char *expr);

/* Bytes from the packet's start that a verdict can need; UINT32_MAX when no bound is known. */
uint32_t pktfilter_depth(const struct pktfilter *f);

/*
 * True if the kernel decides about packets whose bytes it can read up to PKTFILTER_BUF_BYTES; else @why says in
 * one sentence why user space decides about all of them. @why may be NULL.
 */
bool pktfilter_in_kernel(const struct pktfilter *f, char *why, size_t cap);

/*
 * Writes the filter into each program of @obj that has a pool; call it between open and load. A filter that
 * cannot run in the kernel makes those programs answer PKTFILTER_UNDECIDED. NULL = match all: nothing is
 * changed. @btf: the running kernel's types; NULL = unknown. Returns the number of programs changed, -ENOENT if @f is
 * given and no program has a pool.
 */
int pktfilter_splice(struct bpf_object *obj, const struct pktfilter *f, const struct btf *btf, struct err *err);

/* Text for --explain-filter: where it runs and why, classic and converted code. */
int pktfilter_explain(const struct pktfilter *f, struct buf *out);

#endif
