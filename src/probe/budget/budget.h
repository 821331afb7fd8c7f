/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --max-cpu: limits the CPU time of this process and of its BPF programs, as a share of one CPU.
 *
 * Every second the kernel's run time of the programs (BPF_ENABLE_STATS, 5.8) and the CPU time of the process are
 * compared with the limit, and each probe gets its rate (probe_ops.sample). Events that a probe leaves out count as
 * sampled. Each change is a record in the stream, and a note for the user. CPU time of workers is not part of it.
 */
#ifndef BUDGET_H
#define BUDGET_H

#include <stddef.h>
#include <stdint.h>

struct budget;
struct err;
struct probe;
struct sonde_rec;

struct budget_opts {
	struct probe_env *env;
	struct loop *loop;
	unsigned permille;  /* the limit: of one CPU, > 0 */
	uint16_t record;    /* type of the records, with the layout of struct sonde_sampling_rec; 0 = that one */
	uint64_t settle_ns; /* after the start: not measured */
};

/* "5%", "0.5" as thousandths of a CPU. 0, or -EINVAL with a sentence. */
int budget_parse(const char *text, unsigned *ret_permille, struct err *err);

/*
 * Has the kernel measure programs. -errno with a sentence. Everything in @o is borrowed for as long as the result
 * lives.
 */
int budget_new(const struct budget_opts *o, struct budget **ret, struct err *err);

/*
 * Measures and steers from now on. Only probes of @probes that run are steered; all programs of the environment
 * count. @probes: borrowed until budget_stop(). 0 or -errno.
 */
int budget_start(struct budget *b, struct probe *probes, size_t n);
void budget_stop(struct budget *b); /* leaves the rates as they are; NULL is fine */
void budget_free(struct budget *b); /* NULL is fine */

/* Passes a record to @fn for each probe that leaves out events now, for readers that join late. */
int budget_emit(const struct budget *b, int (*fn)(void *ctx, const struct sonde_rec *r), void *ctx);

#endif
