/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a compiled filter consists of; private to this module.
 */
#ifndef PKTFILTER_PKTFILTER_PKTFILTER_FILTER_H
#define PKTFILTER_PKTFILTER_PKTFILTER_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_insn;
struct err;
struct sock_filter;

enum filter_start {
	START_ETHERNET,
	START_IP,
	START_SLL,
	START_SLL2,
	START__MAX,
};

/* The expression for packets of one start. */
struct filter_code {
	struct sock_filter *insns; /* owned; NULL = no packet with this start can match */
	size_t n;
	char why[128]; /* libpcap's reason if insns is NULL */
	uint32_t depth;
	int error; /* of the conversion: 0, -ELOOP, -ENOSPC */
};

struct pktfilter {
	char *expr;
	struct filter_code code[START__MAX];
	uint32_t depth;	       /* the deeper of the two starts that live packets have */
	struct bpf_insn *pool; /* owned; converted code of both live starts, NULL if it cannot run there */
	size_t n_pool;
	int error; /* why there is no pool: -ELOOP, -ENOSPC */
};

/*
 * libpcap's side (libpcap.c, which alone includes its headers because its names clash with the kernel's).
 * Compiles @expr for @start. -EINVAL with libpcap's message in @why.
 */
int libpcap_compile(const char *expr, enum filter_start start, struct sock_filter **ret, size_t *ret_n, char *why,
		    size_t cap);
/* Is the code safe to run? It may come from a worker. */
bool libpcap_valid(const struct sock_filter *insns, size_t n);
uint32_t libpcap_run(const struct sock_filter *insns, const void *data, uint32_t cap_len, uint32_t orig_len);

/* Instruction number @i as text; valid until the next call. */
const char *libpcap_line(const struct sock_filter *insn, int i);

/* Where libpcap's complaint @why belongs: offset and length of the word in @expr. */
void pktfilter_filter_find_fault(const char *expr, const char *why, size_t *ret_off, size_t *ret_len);

/* The two halves of a compilation: libpcap's, which fills insns, n and why of each start, and ours, from those. */
int pktfilter_filter_compile(struct pktfilter *f, struct err *err);
int pktfilter_filter_finish(struct pktfilter *f, struct err *err);

/* The pool's code from both starts: R5 != 0 selects START_ETHERNET. Fills pool, n_pool, error. */
int pktfilter_filter_build_pool(struct pktfilter *f);

#endif
