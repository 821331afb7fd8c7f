/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of a compiled filter; private to this module.
 */
#ifndef PKTFILTER_PKTFILTER_FILTER_H
#define PKTFILTER_PKTFILTER_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

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
	uint32_t depth;	       /* the greater depth of the two starts of live packets */
	struct bpf_insn *pool; /* owned; eBPF code of both live starts, NULL if it cannot run in the kernel */
	size_t n_pool;
	int error; /* reason for pool NULL: -ELOOP, -ENOSPC */
};

/* The code for packets of @link, SONDE_LINK_*; NULL for an unknown one. */
const struct filter_code *pktfilter_filter_code(const struct pktfilter *f, uint32_t link);

/* Compiles @expr for @start. -EINVAL with libpcap's message in @why. */
int libpcap_compile(const char *expr, enum filter_start start, struct sock_filter **ret, size_t *ret_n, char *why,
		    size_t cap);
/* True if the code, which may come from a worker, is safe to run. */
bool libpcap_valid(const struct sock_filter *insns, size_t n);
uint32_t libpcap_run(const struct sock_filter *insns, const void *data, uint32_t cap_len, uint32_t orig_len);

/* Instruction number @i as text; valid until the next call. */
const char *libpcap_line(const struct sock_filter *insn, int i);

/* Offset and length of the word in @expr that libpcap's error @why refers to. */
void pktfilter_filter_find_fault(const char *expr, const char *why, size_t *ret_off, size_t *ret_len);

/*
 * The halves of a compilation: compile fills insns, n and why of each start by libpcap; finish the rest from these.
 */
int pktfilter_filter_compile(struct pktfilter *f, struct err *err);
int pktfilter_filter_finish(struct pktfilter *f, struct err *err);

/* Builds the pool's code from both live starts: R5 != 0 selects START_ETHERNET. Fills pool, n_pool, error. */
int pktfilter_filter_build_pool(struct pktfilter *f);

#endif
