// SPDX-License-Identifier: GPL-2.0-or-later
#include "agent/access/agent_use.h"

#include <string.h>

#include "base/macros.h"
#include "base/str.h"

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t r;

	return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

/* The largest of "65535", "drop=256": parse errors are reported elsewhere. */
static uint64_t largest(const struct opt_strv *v, uint64_t zero_is)
{
	uint64_t most = 0, n;

	for (size_t i = 0; i < v->len; i++) {
		const char *eq = strrchr(v->items[i], '=');

		if (str_to_bytes(eq ? eq + 1 : v->items[i], &n) == 0)
			most = MAX(most, n ? n : zero_is);
	}
	return most;
}

static uint64_t value_of(const struct opt *o, const void *at)
{
	switch (o->kind) {
	case OPT_BOOL: return *(const bool *)at;
	case OPT_U32: return *(const uint32_t *)at;
	case OPT_U64:
	case OPT_BYTES:
	case OPT_DURATION: return *(const uint64_t *)at;
	case OPT_STRV: return largest(at, o->zero_is);
	case OPT_COUNT:
	case OPT_STR:
	case OPT_MAYBE:
	case OPT_U32V:
	case OPT_ENUM:
	case OPT_CALL:
	case OPT__MAX: break;
	}
	return 0;
}

static bool in_effect(const struct opt *o, const char *conf)
{
	for (size_t i = 0; i < o->with_size; i++)
		if (conf[o->with + i])
			return true;
	return !o->with_size;
}

static void measure(const struct opt *o, const char *conf, unsigned n_cpus, struct inst_use *ret)
{
	uint64_t v = value_of(o, conf + o->off), unit = o->unit ? o->unit : 1;
	uint64_t *hz = &ret->of[OPT_USE_HZ], *shortest = &ret->of[OPT_USE_INTERVAL];

	if (!v && o->kind != OPT_STRV)
		v = o->zero_is;
	if (!v || !in_effect(o, conf))
		return;
	switch (o->use) {
	case OPT_USE_HZ: *hz = agent_use_plus(*hz, v); break;
	case OPT_USE_PERIOD: *hz = agent_use_plus(*hz, unit / v + !!(unit % v)); break;
	case OPT_USE_BYTES: ret->of[OPT_USE_BYTES] = MAX(ret->of[OPT_USE_BYTES], times(v, unit)); break;
	case OPT_USE_MEMORY:
		v = times(times(v, unit), o->per_cpu ? n_cpus : 1);
		ret->of[OPT_USE_MEMORY] = agent_use_plus(ret->of[OPT_USE_MEMORY], v);
		break;
	case OPT_USE_INTERVAL: *shortest = *shortest ? MIN(*shortest, v) : v; break;
	case OPT_USE_UNSAID:
	case OPT_USE_NONE:
	case OPT_USE__MAX: break;
	}
}

void agent_use_measure(const struct opt_set *sets, size_t n_sets, unsigned n_cpus, struct inst_use *ret)
{
	*ret = (struct inst_use){ 0 };
	for (size_t i = 0; i < n_sets; i++)
		for (const struct opt *o = sets[i].opts; opt_is_row(o); o++)
			measure(o, sets[i].conf, n_cpus, ret);
}
