/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows, values and reasons that the option tables of perf's commands share.
 */
#ifndef COMPAT_PERF_OPTS_H
#define COMPAT_PERF_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"

struct cpu_conf;
struct run_conf;

#define PERF_IGNORED(name_, key_, arg_, help_, differs_, ...) \
	OPT_CALL_ROW(opt_ignore, name_, key_, arg_, help_, .differs = (differs_), ##__VA_ARGS__)

/*
 * The event of perf record and perf top, by -e and -u. The configuration of their rows begins with it, so that the
 * functions below serve both.
 */
struct perf_event_opts {
	bool cycles, user, kernel; /* user, kernel: of these modes only */
	const char *uid;
};
int perf_opts_event(void *conf, const char *arg, struct err *err); /* -e NAME[:MODIFIERS] */
/* "99", or "max" for the most that the kernel allows. */
OPT_PARSER(perf_opts_frequency, uint32_t);
/* Behind the mode of --call-graph (fp, dwarf[,SIZE] or lbr) and its commas; @arg if it has none. */
const char *perf_opts_after_mode(const char *arg);
/* Into the configuration of a run; @text holds its filter and must outlive it. 0, or an error with a sentence. */
int perf_opts_apply(const struct perf_event_opts *o, struct run_conf *run, struct cpu_conf *cpu, struct buf *text,
		    struct err *err);

/* Reasons of several commands. */
#define PERF_NO_BRANCHES "sonde takes no branch records: use perf with a CPU that has them"
#define PERF_NO_AUX "sonde reads no instruction traces: use perf with a CPU that has them"
#define PERF_NO_GUESTS "sonde samples this kernel only: run sonde profile in the guest"
#define PERF_NO_REGS "samples have no registers: use sonde profile -o json for what they have"
#define PERF_NO_DATA "samples have no data addresses: use perf mem for them"
#define PERF_NO_GROUPS "one event is sampled: run sonde profile --event NAME for each"
#define PERF_NO_ASM "sonde disassembles nothing: use sonde profile --lines for lines, objdump for instructions"
#define PERF_NO_SWITCH "use --time START,STOP for a span of the recording"
#define PERF_ASM_ROWS \
	REFUSED("disassembler-style", 'M', "STYLE", PERF_NO_ASM), REFUSED("asm-raw", 0, NULL, PERF_NO_ASM), \
	REFUSED("source", 0, NULL, PERF_NO_ASM), REFUSED("objdump", 0, "PATH", PERF_NO_ASM), \
	REFUSED("addr2line", 0, "PATH", PERF_NO_ASM), REFUSED("prefix", 0, "PREFIX", PERF_NO_ASM), \
	REFUSED("prefix-strip", 0, "N", PERF_NO_ASM)
#define PERF_SWITCH_ROWS \
	REFUSED("switch-on", 0, "EVENT", PERF_NO_SWITCH), REFUSED("switch-off", 0, "EVENT", PERF_NO_SWITCH), \
	REFUSED("show-on-off-events", 0, NULL, PERF_NO_SWITCH)
#define PERF_BUILT_IN "names are those of the running kernel, taken while recording: use sonde profile --symfs DIR"

#endif
