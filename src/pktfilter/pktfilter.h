/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pcap-filter language, compiled by libpcap to classic BPF. In user space libpcap's interpreter runs the code;
 * for the kernel it is converted to eBPF and spliced into a pool of no-ops in sonde's programs (bpf/pktfilter.bpf.h).
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
 * Compiles @expr for each start that a packet can have: Ethernet header, IP header, Linux "cooked" headers of capture
 * files. An expression that needs an Ethernet header (`ether host`, `vlan`) matches no packet without one. "" matches
 * all. On failure @err has the problem and the expression with a caret under the word. -EINVAL: invalid expression;
 * -EOPNOTSUPP: it depends on metadata (inbound, ifname).
 *
 * libpcap runs in an unprivileged worker process with at most @cpu_ns of processor time (-ETIMEDOUT): its optimizer
 * takes minutes for 800 addresses. The worker cannot resolve names of hosts, ports and protocols: -ENOKEY then; see
 * pktfilter_resolve().
 */
int pktfilter_compile(const char *expr, uint64_t cpu_ns, struct pktfilter **ret, struct err *err);

/*
 * Writes @expr to @ret with the names of hosts, networks, ports and protocols replaced by numbers. Uses the host's
 * resolver and may block.
 */
int pktfilter_resolve(const char *expr, uint64_t cpu_ns, struct buf *ret, struct err *err);

/* pktfilter_compile() in the calling process, for tests. */
int pktfilter_compile_here(const char *expr, struct pktfilter **ret, struct err *err);
/* Loads libpcap now, for a process that may not load code later: library_load(). */
int pktfilter_prepare(struct err *err);
void pktfilter_free(struct pktfilter *f);

/* The verdict of libpcap's bpf_filter(). @link: SONDE_LINK_*; false for an unknown one. */
bool pktfilter_match(const struct pktfilter *f, uint32_t link, const void *data, uint32_t cap_len,
		     uint32_t orig_len);

/*
 * pktfilter_match() with three results: PKTFILTER_UNDECIDED if the captured bytes are too few. PKTFILTER_PASS is
 * certain for truncated packets, too.
 */
int pktfilter_verdict(const struct pktfilter *f, uint32_t link, const void *data, uint32_t cap_len,
		      uint32_t orig_len);

/* True if @expr reads only fixed headers; false if uncertain. */
bool pktfilter_headers_only(const char *expr);

/* Bytes from the packet's start that a verdict can depend on; UINT32_MAX = unbounded. */
uint32_t pktfilter_depth(const struct pktfilter *f);

/*
 * True if the kernel decides on packets, as far as it can read their first PKTFILTER_BUF_BYTES bytes. Else user space
 * decides on all packets, and @why (may be NULL) is the reason in one sentence.
 */
bool pktfilter_in_kernel(const struct pktfilter *f, char *why, size_t cap);

/*
 * Writes the filter into each program of @obj with a pool; call it between open and load. With a filter that cannot
 * run in the kernel these programs return PKTFILTER_UNDECIDED. @f NULL: matches all, changes nothing. @btf: the
 * running kernel's types; NULL = unknown. Returns the number of programs changed; -ENOENT if no program has a pool.
 */
int pktfilter_splice(struct bpf_object *obj, const struct pktfilter *f, const struct btf *btf, struct err *err);

/*
 * Appends the classic code for packets of @link, SONDE_LINK_*, which accepts @snaplen bytes: @form 1 as text, 2 as C,
 * else as numbers. 0, -ENOMEM, or -EINVAL if no packet of that link can match.
 */
int pktfilter_code(const struct pktfilter *f, uint32_t link, unsigned form, uint32_t snaplen, struct buf *out);

/* Text for --explain-filter: where it runs and why, classic and converted code. */
int pktfilter_explain(const struct pktfilter *f, struct buf *out);

#endif
