// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/run_end.h"

#include "agent/pipeline.h"
#include "base/buf.h"
#include "base/log.h"
#include "event/core.h"
#include "event/names.h"

/* One line per instance that saw anything. */
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

/* A ledger that does not add up is a defect of ours; it must not pass in silence. */
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

/* Losses are reported even without -v. */
void run_end_say(const struct pipeline *p, unsigned verbose)
{
	struct sonde_ledger sum;
	uint64_t lost = 0;

	say_gaps(p);
	pipeline_ledger(p, &sum);
	for (unsigned c = 0; c < SONDE_LOST__MAX; c++)
		lost += sum.lost[c];
	if (verbose)
		say_ledger(p);
	else if (lost)
		log_warn("%llu of %llu events were lost; -v says why, a larger --ring-size may help",
			 (unsigned long long)lost, (unsigned long long)sum.seen);
}
