// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/run/run_store.h"

#include <errno.h>
#include <grp.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "cmd/run/run_conf.h"
#include "event/redact/redact.h"
#include "store/store_writer.h"

#define MAX_BYTES (10ull << 30)
#define MIN_FREE_PCT 10

int run_store_min_free(void *conf, const char *arg, struct err *err)
{
	struct run_conf *c = conf;
	const size_t digits = strspn(arg, "0123456789");
	char number[4];

	if (digits && str_copy(number, sizeof(number), arg, digits) && (!arg[digits] || !strcmp(arg + digits, "%"))) {
		if (str_to_u32(number, 10, &c->store.min_free_pct) == 0 && c->store.min_free_pct < 100) {
			c->store.has_min_free = true;
			return 0;
		}
	}
	return err_set(err, -EINVAL, "--min-free %s: expected a percentage of the file system, such as 10%%", arg);
}

int run_store_limits(const struct run_conf *c, struct store_writer_opts *ret, struct err *err)
{
	const uint64_t segment = c->store.segment_bytes ? c->store.segment_bytes : STORE_SEGMENT_BYTES;
	const struct group *g;

	ret->segment_bytes = segment;
	ret->segment_ns = c->store.segment_ns;
	ret->sync_ns = c->store.sync_ns;
	ret->limits = (struct store_limits){
		.max_bytes = c->store.max_bytes ? c->store.max_bytes : MAX_BYTES,
		.max_age_ns = c->store.max_age_ns,
		.min_free_pct = c->store.has_min_free ? c->store.min_free_pct : MIN_FREE_PCT,
	};
	if (ret->limits.max_bytes < 2 * segment)
		return err_set(err, -EINVAL,
			       "--max-size: the least that works is two segments, %llu bytes (--segment)",
			       (unsigned long long)(2 * segment));
	if (!c->store.group)
		return 0;
	g = getgrnam("sonde");
	if (!g)
		return err_set(err, -EINVAL, "--group: this host has no group sonde");
	ret->mode = 0640;
	ret->group = g->gr_gid;
	return 0;
}
