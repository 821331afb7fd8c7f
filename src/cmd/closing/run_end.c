// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/closing/run_end.h"

#include <stdbool.h>

#include "cmd/run/run_conf.h"
#include "cmd/run/run_ops.h"
#include "pipeline/pipeline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/macros.h"
#include "cmd/child.h"
#include "cmd/closing/closing.h"
#include "cmd/other_netns.h"
#include "cmd/run/run_select.h"
#include "event/core.h"
#include "event/names.h"
#include "state/state.h"

/* One line per instance that saw events. */
static void say_ledger(const struct pipeline *p)
{
	for (uint16_t i = 0; i < SONDE_INSTANCES; i++) {
		struct sonde_ledger l;
		const char *name = pipeline_instance(p, i, &l);
		struct buf causes = { 0 };

		if (!name || !l.seen)
			continue;
		for (unsigned c = 0; c < SONDE_LOST__MAX; c++)
			if (l.lost[c])
				buf_printf(&causes, ", lost %llu (%s)", (unsigned long long)l.lost[c],
					   xlat_name(&lost_cause_xlat, c));
		log_info("sonde: %s: seen %llu = delivered %llu, filtered %llu, sampled %llu%s", name,
			 (unsigned long long)l.seen, (unsigned long long)l.delivered,
			 (unsigned long long)l.filtered, (unsigned long long)l.sampled,
			 causes.len ? buf_str(&causes) : ", lost 0");
		buf_fini(&causes);
	}
}

/* Entries of the state engine that left for lack of room: later events of theirs lack names. */
static void say_evicted(const struct pipeline *p)
{
	static const char *const names[] = {
		[STATE_PROCESS] = "processes", [STATE_THREAD] = "threads", [STATE_SOCKET] = "sockets",
		[STATE_FILE] = "files",
	};
	_cleanup_(buf_fini) struct buf counts = { 0 };
	struct state_stats st;

	_Static_assert(ARRAY_SIZE(names) == STATE_TABLE__MAX, "every table has a name");
	for (unsigned t = 0; t < STATE_TABLE__MAX; t++) {
		state_stats(pipeline_state(p), (enum state_table)t, &st);
		if (st.evicted)
			buf_printf(&counts, "%s %s %llu", counts.len ? "," : "", names[t],
				   (unsigned long long)st.evicted);
	}
	if (counts.len)
		log_info("sonde: evicted for lack of memory:%s; their later events lack names", buf_str(&counts));
}

/* A ledger that does not add up is a bug in sonde and must be reported. */
static void say_gaps(const struct pipeline *p)
{
	for (uint16_t i = 0; i < SONDE_INSTANCES; i++) {
		uint64_t gap = pipeline_gap(p, i);
		struct sonde_ledger l;

		if (gap)
			log_warn("the ledger of %s does not close: %llu events are unaccounted for",
				 pipeline_instance(p, i, &l), (unsigned long long)gap);
	}
}

/* Of runs that name functions: mappings serve nothing else. */
static void say_names(const struct sonde_ledger *sum)
{
	if (sum->lost[SONDE_LOST_MAPPING])
		log_warn("executable mappings lost: %llu; their stacks have no names",
			 (unsigned long long)sum->lost[SONDE_LOST_MAPPING]);
	if (sum->lost[SONDE_LOST_MAPPING_LIMIT])
		log_warn("executable mappings over the limit of a process: %llu; its newest code may have no names",
			 (unsigned long long)sum->lost[SONDE_LOST_MAPPING_LIMIT]);
	if (sum->lost[SONDE_LOST_NAMES])
		log_warn("the recording lacks %llu names of stacks: their files could not be read",
			 (unsigned long long)sum->lost[SONDE_LOST_NAMES]);
}

/* Losses are reported even without -v. */
static void say_losses(const struct pipeline *p, bool each)
{
	struct sonde_ledger sum;
	uint64_t lost = 0, most = 0;
	unsigned cause = 0;

	say_gaps(p);
	pipeline_ledger(p, &sum);
	for (unsigned c = 0; c < SONDE_LOST__MAX; c++) {
		if (core_lost_is_apart(c))	/* they have sentences of their own */
			continue;
		lost += sum.lost[c];
		cause = sum.lost[c] > most ? c : cause;
		most = MAX(most, sum.lost[c]);
	}
	if (sum.lost[SONDE_LOST_NOT_ATTACHED])
		log_warn("programs that ran before sonde was attached to them: %llu; their first calls are missing, "
			 "--prefetch FILE attaches earlier", (unsigned long long)sum.lost[SONDE_LOST_NOT_ATTACHED]);
	if (pipeline_sym(p))
		say_names(&sum);
	if (each) {
		say_ledger(p);
		say_evicted(p);
	} else if (lost) {
		log_warn("%llu of %llu events were lost: %s (-v lists all causes)", (unsigned long long)lost,
			 (unsigned long long)sum.seen, core_lost_why(cause));
	}
}

/* ---- why nothing was shown ---- */

/* Instance 0 is proc, which every run has. Where the ledger counts hits of probes, events are counted here alone. */
static void own_ledger(const struct pipeline *p, const struct run_ops *spec, struct sonde_ledger *ret)
{
	*ret = (struct sonde_ledger){ 0 };
	if (spec->counts_hits)
		ret->seen = ret->filtered = pipeline_refused(p);
	for (uint16_t i = 1; i < SONDE_INSTANCES && !spec->counts_hits; i++) {
		struct sonde_ledger l;

		if (!pipeline_instance(p, i, &l))
			continue;
		ret->seen += l.seen;
		ret->filtered += l.filtered;
	}
}

static bool add_ended(const struct run_conf *c, struct buf *out)
{
	if (!c->pids.len || run_select_live_pids(c))
		return false;
	if (c->pids.len == 1)
		buf_printf(out, "process %u ended", c->pids.items[0]);
	else
		buf_printf(out, "all %zu processes ended", c->pids.len);
	return true;
}

static bool selects_command(const struct run_ops *spec)
{
	return spec->command && spec->command->len && !(spec->child && spec->child->aside);
}

/* The user's means of selection: "the filter and --pid". Empty without any: nothing was refused on request. */
static void add_selection(const struct run_end *c, struct buf *out)
{
	const struct run_conf *r = c->conf;
	const struct { bool is_given; const char *word; } all[] = {
		{ r->where || c->spec->filter_text, "the filter" },
		{ r->pids.len || r->trees.len, "--pid" },
		{ r->ifaces.len, "--interface" },
		{ r->netns.len, "--netns" },
		{ r->containers.len, "--container" },
		{ r->cgroups.len, "--cgroup" },
		{ c->spec->selects, c->spec->selects },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i].is_given)
			buf_printf(out, "%s%s", out->len ? " and " : "", all[i].word);
}

static void add_refused(const struct sonde_ledger *l, const char *by, const char *unit, struct buf *out)
{
	buf_printf(out, "%s refused ", by);
	closing_add_number(out, l->filtered);
	buf_add_str(out, " of ");
	closing_add_count(out, l->seen, unit);
}

static unsigned hertz_of(const struct run_end *c)
{
	return c->spec->stacks ? c->spec->stacks->hertz : 0;
}

/* Too short for samples, whatever the filter refused. */
static bool was_short(const struct run_end *c)
{
	return hertz_of(c) && (double)c->ran_ns / 1e9 * hertz_of(c) < 10;
}

static void add_silence(const struct run_end *c, const struct sonde_ledger *l, struct buf *out)
{
	const char *of = selects_command(c->spec) ? " of the command" : "";
	double ran_s = (double)c->ran_ns / 1e9;
	unsigned others = c->others ? other_netns_busy(c->others) : 0;

	if (was_short(c))
		buf_printf(out, "no %ss%s: ran %.1f s at %u Hz", c->spec->unit, of, ran_s, hertz_of(c));
	else
		buf_printf(out, "no %ss%s in %.1f s", c->spec->unit, of, ran_s);
	if (*of && l->filtered) {
		buf_add_str(out, ", ");
		closing_add_number(out, l->filtered);
		buf_printf(out, " other %s%s", c->spec->unit, l->filtered == 1 ? "" : "s");
	}
	if (others)
		buf_printf(out, "; only other network namespaces had traffic (%u seen)", others);
}

static void say_nothing_shown(const struct pipeline *p, const struct run_end *c)
{
	_cleanup_(buf_fini) struct buf why = { 0 }, by = { 0 };
	struct sonde_ledger l;

	own_ledger(p, c->spec, &l);
	add_selection(c, &by);
	if (!c->ran_ns)
		buf_add_str(&why, "stopped during the start");
	else if (!add_ended(c->conf, &why) && l.filtered && by.len && !was_short(c))
		add_refused(&l, buf_str(&by), c->spec->unit, &why);
	else if (!why.len)
		add_silence(c, &l, &why);
	if (!buf_error(&why))
		log_info("sonde: nothing shown: %s", buf_str(&why));
}

void run_end_say(const struct pipeline *p, const struct run_end *c)
{
	say_losses(p, c->conf->verbose || (c->spec->ledgers && !c->conf->quiet));
	if (c->spec->unit && !c->conf->quiet && !c->conf->read && !pipeline_shown(p))
		say_nothing_shown(p, c);
}
