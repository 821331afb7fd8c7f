// SPDX-License-Identifier: GPL-2.0-or-later
#include "metrics/metrics_table.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"

#define FAMILY(...)
#define METRIC(name_, kind_, unit_, family_, type_, only_, op_, field_, id_, help_, ...) \
	{ .name = (name_), .kind = METRIC_##kind_, .unit = METRIC_##unit_, .family = (family_), .type = (type_), \
	  .only = (only_), .op = METRIC_##op_, .field = (field_), .id = (id_), .help = (help_), ##__VA_ARGS__, \
	  .labels = {
#define LABEL(key_, attribute_, field_) { (key_), (attribute_), (field_) },
#define END } },

const struct metric metrics_table[] = {
#include "tables/metrics.def"
};
const size_t metrics_table_n = ARRAY_SIZE(metrics_table);

#undef FAMILY
#undef METRIC
#undef LABEL
#undef END
#define FAMILY(name_, probes_, summary_, cost_) \
	{ .name = #name_, .probes = (probes_), .summary = (summary_), .cost = (cost_) },
#define METRIC(...)
#define LABEL(...)
#define END

const struct metric_family metrics_table_families[] = {
#include "tables/metrics.def"
};
const size_t metrics_table_n_families = ARRAY_SIZE(metrics_table_families);
_Static_assert(ARRAY_SIZE(metrics_table_families) <= 32, "a bit per family");

const struct metric_more metrics_table_more[METRIC_MORE] = {
	{ "pid", { "pid", "process.pid", "proc.pid" } },
	{ "container-id", { "container_id", "container.id", "container.id" } },
	{ "address", { "server_address", "server.address", "fd.sip" } },
	{ "port", { "server_port", "server.port", "fd.sport" } },
	{ "path", { "url_path", "url.path", "rpc.path" } },
};

static const struct { const char *ucum, *suffix; } units[] = {
	[METRIC_PACKETS] = { "{packet}", "" }, [METRIC_BYTES] = { "By", "_bytes" }, [METRIC_NS] = { "s", "_seconds" },
	[METRIC_CALLS] = { "{call}", "" }, [METRIC_CONNECTIONS] = { "{connection}", "" },
	[METRIC_SEGMENTS] = { "{segment}", "" },
};
_Static_assert(ARRAY_SIZE(units) == METRIC_UNIT__MAX, "each unit has names");

size_t metrics_table_n_labels(const struct metric *m)
{
	size_t n = 0;

	while (n < METRIC_LABELS && m->labels[n].key)
		n++;
	return n;
}

static size_t family_find(const char *name, size_t len)
{
	size_t i = 0;

	while (i < metrics_table_n_families && (strlen(metrics_table_families[i].name) != len ||
						memcmp(metrics_table_families[i].name, name, len) != 0))
		i++;
	return i;
}

static int unknown_family(const char *word, size_t len, struct err *err)
{
	char typed[32];
	struct str_near near = { .word = typed };
	struct buf all = { 0 };
	int r;

	str_escape(typed, sizeof(typed), word, MIN(len, sizeof(typed) - 1));
	for (size_t i = 0; i < metrics_table_n_families; i++) {
		str_near_offer(&near, metrics_table_families[i].name);
		buf_printf(&all, "%s%s", i ? ", " : "", metrics_table_families[i].name);
	}
	r = near.best ? err_set(err, -EINVAL, "%s: no family of metrics; did you mean %s?", typed, near.best) :
			err_set(err, -EINVAL, "%s: no family of metrics; expected %s", typed, buf_str(&all));
	buf_fini(&all);
	return r;
}

static size_t more_find(const char *name, size_t len)
{
	size_t i = 0;

	while (i < METRIC_MORE && (strlen(metrics_table_more[i].name) != len ||
				   memcmp(metrics_table_more[i].name, name, len) != 0))
		i++;
	return i;
}

static int unknown_label(const char *word, size_t len, struct err *err)
{
	char typed[32];

	str_escape(typed, sizeof(typed), word, MIN(len, sizeof(typed) - 1));
	return err_set(err, -EINVAL, "+%s: no such label; expected +pid, +container-id, +address, +port, +path",
		       typed);
}

int metrics_table_mask(const char *list, uint32_t *ret, uint32_t *ret_more, struct err *err)
{
	uint32_t mask = 0, more = 0;
	const char *word;
	size_t len;

	while ((word = str_next_word(&list, &len))) {
		const bool is_label = len && *word == '+';
		size_t i = is_label ? more_find(word + 1, len - 1) : family_find(word, len);

		if (is_label && i == METRIC_MORE)
			return unknown_label(word + 1, len - 1, err);
		if (!is_label && i == metrics_table_n_families)
			return unknown_family(word, len, err);
		*(is_label ? &more : &mask) |= 1u << i;
	}
	*ret = mask;
	*ret_more = more;
	return 0;
}

uint32_t metrics_table_own(void)
{
	return ~(1u << family_find("hubble", strlen("hubble")));
}

uint32_t metrics_table_family(const struct metric *m)
{
	return 1u << family_find(m->family, strlen(m->family));
}

void metrics_table_prometheus(const struct metric *m, struct buf *out)
{
	const char *suffix = units[m->unit].suffix;
	size_t len = strlen(m->name), n = strlen(suffix);

	for (const char *c = m->name; *c; c++)
		buf_add_char(out, *c == '.' ? '_' : *c);
	/* a name that ends in its unit does not get it twice */
	if (n && (len < n || memcmp(m->name + len - n + 1, suffix + 1, n - 1) != 0))
		buf_add_str(out, suffix);
}

const char *metrics_table_unit(const struct metric *m)
{
	return units[m->unit].ucum;
}

#define MS 1000000ull

/* The boundaries that OpenTelemetry's conventions recommend for calls of RPC, HTTP and databases. */
static const uint64_t call_bounds[] = {
	5 * MS, 10 * MS, 25 * MS, 50 * MS, 75 * MS, 100 * MS, 250 * MS, 500 * MS, 750 * MS, 1000 * MS, 2500 * MS,
	5000 * MS, 7500 * MS, 10000 * MS,
};

/* Ends of steps, from 1 us to 2 s: nearly each bound is four times the one before. */
static const uint64_t step_bounds[] = {
	(1ull << 10) - 1, (1ull << 12) - 1, (1ull << 14) - 1, (1ull << 16) - 1, (1ull << 18) - 1, (1ull << 20) - 1,
	(1ull << 22) - 1, (1ull << 24) - 1, (1ull << 26) - 1, (1ull << 28) - 1, (1ull << 30) - 1, (1ull << 31) - 1,
};
_Static_assert(ARRAY_SIZE(call_bounds) <= METRIC_BOUNDS && ARRAY_SIZE(step_bounds) <= METRIC_BOUNDS, "they fit");

bool metrics_table_own_bounds(const struct metric *m)
{
	return m->kind == METRIC_HISTOGRAM && !strncmp(m->name, "sonde.", 6);
}

size_t metrics_table_bounds(const struct metric *m, const uint64_t **ret)
{
	if (m->kind != METRIC_HISTOGRAM)
		return 0;
	if (metrics_table_own_bounds(m)) {
		*ret = step_bounds;
		return ARRAY_SIZE(step_bounds);
	}
	*ret = call_bounds;
	return ARRAY_SIZE(call_bounds);
}

uint64_t metrics_table_step_end(unsigned i)
{
	unsigned log = (i >> 2) + 1;

	if (i >= METRIC_STEP_LAST)
		return UINT64_MAX;
	return i < 4 ? i : ((4ull + (i & 3) + 1) << (log - 2)) - 1;
}
