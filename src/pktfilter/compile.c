// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compiles an expression for every start of a packet; the verdict in user space. Error messages show the expression
 * and the position that fault.c finds.
 */
#include "pktfilter/pktfilter.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "pktfilter/cbpf.h"
#include "pktfilter/pktfilter_filter.h"
#include "sonde/pktfilter_wire.h"
#include "sonde/wire.h"

DEFINE_CLEANUP(struct pktfilter *, pktfilter_free)

/* The message, the expression on a line, carets under [off, off + len). */
static int fault(const char *expr, const char *why, int code, struct err *err)
{
	char marks[160];
	size_t off, len;

	pktfilter_filter_find_fault(expr, why, &off, &len);
	if (off + len >= sizeof(marks))
		return err_set(err, code, "packet filter: %s, near \"%.60s\"", why, expr + off);
	memset(marks, ' ', off);
	memset(marks + off, '^', len);
	marks[off + len] = '\0';
	return err_set(err, code, "packet filter: %s\n  %s\n  %s", why, expr, marks);
}

/* True if the code loads metadata that the kernel has and captures lack. */
static bool asks_kernel(const struct sock_filter *insns, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (cbpf_is_packet_load(&insns[i]) && insns[i].k >= CBPF_ANCILLARY)
			return true;
	}
	return false;
}

static int refuse_asking_kernel(const char *expr, struct err *err)
{
	static const char *const words[] = { "inbound", "outbound", "ifindex" };
	char why[128] = "it asks for what a packet's bytes do not tell";

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strstr(expr, words[i]))
			snprintf(why, sizeof(why),
				 "'%s' is not told by a packet's bytes; options such as --interface select by it",
				 words[i]);
	}
	return fault(expr, why, -EOPNOTSUPP, err);
}

static int analyse(struct filter_code *c)
{
	_cleanup_free_ struct cbpf_state *states = calloc(c->n, sizeof(*states));
	int r;

	if (!states)
		return -ENOMEM;
	r = cbpf_analyse(c->insns, c->n, UINT32_MAX, states, &c->depth);
	if (r == -ELOOP)
		c->depth = UINT32_MAX;
	return r == -ELOOP ? 0 : r;
}

static int compile_start(struct pktfilter *f, enum filter_start start, struct err *err)
{
	struct filter_code *c = &f->code[start];
	int r = libpcap_compile(f->expr, start, &c->insns, &c->n, c->why, sizeof(c->why));

	if (r == -EINVAL && start != START_ETHERNET)
		return 0;
	if (r == -EINVAL)
		return fault(f->expr, c->why, r, err);
	if (r == -ELIBACC)
		return pktfilter_prepare(err);
	if (r < 0)
		return err_errno(err, r, "cannot compile the packet filter");
	return asks_kernel(c->insns, c->n) ? refuse_asking_kernel(f->expr, err) : 0;
}

int pktfilter_filter_compile(struct pktfilter *f, struct err *err)
{
	int r = 0;

	for (int start = 0; r >= 0 && start < START__MAX; start++)
		r = compile_start(f, start, err);
	return r;
}

int pktfilter_filter_finish(struct pktfilter *f, struct err *err)
{
	int r = 0;

	for (int start = 0; r >= 0 && start < START__MAX; start++)
		r = f->code[start].insns ? analyse(&f->code[start]) : 0;
	if (r < 0)
		return err_errno(err, r, "cannot use the code that libpcap made of the packet filter");
	f->depth = MAX(f->code[START_ETHERNET].depth, f->code[START_IP].depth);
	r = pktfilter_filter_build_pool(f);
	return r < 0 ? err_errno(err, r, "cannot convert the packet filter") : 0;
}

int pktfilter_compile_here(const char *expr, struct pktfilter **ret, struct err *err)
{
	_cleanup_(pktfilter_freep) struct pktfilter *f = calloc(1, sizeof(*f));
	int r;

	if (f)
		f->expr = strdup(expr);
	if (!f || !f->expr)
		return err_errno(err, -ENOMEM, "cannot compile the packet filter");
	r = pktfilter_filter_compile(f, err);
	if (r >= 0)
		r = pktfilter_filter_finish(f, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(f);
	return 0;
}

void pktfilter_free(struct pktfilter *f)
{
	if (!f)
		return;
	for (int start = 0; start < START__MAX; start++)
		free(f->code[start].insns);
	free(f->pool);
	free(f->expr);
	free(f);
}

const struct filter_code *pktfilter_filter_code(const struct pktfilter *f, uint32_t link)
{
	switch (link) {
	case SONDE_LINK_ETHERNET:
		return &f->code[START_ETHERNET];
	case SONDE_LINK_RAW:
		return &f->code[START_IP];
	case SONDE_LINK_SLL:
		return &f->code[START_SLL];
	case SONDE_LINK_SLL2:
		return &f->code[START_SLL2];
	default:
		return NULL;
	}
}

bool pktfilter_match(const struct pktfilter *f, uint32_t link, const void *data, uint32_t cap_len,
		     uint32_t orig_len)
{
	const struct filter_code *c = pktfilter_filter_code(f, link);

	return c && c->insns && libpcap_run(c->insns, data, cap_len, orig_len) != 0;
}

int pktfilter_verdict(const struct pktfilter *f, uint32_t link, const void *data, uint32_t cap_len,
		      uint32_t orig_len)
{
	const struct filter_code *c = pktfilter_filter_code(f, link);

	if (!c || !c->insns)
		return PKTFILTER_REJECT;
	if (libpcap_run(c->insns, data, cap_len, orig_len))
		return PKTFILTER_PASS;
	return cap_len < MIN(c->depth, orig_len) ? PKTFILTER_UNDECIDED : PKTFILTER_REJECT;
}

uint32_t pktfilter_depth(const struct pktfilter *f)
{
	return f->depth;
}
