// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * File numbering as tcpdump(1) documents it for -C, -G, -W and 4.99 does it: the first file has no digit and numbers
 * begin with the second, or with -W, all have zero-padded numbers. A change by time restarts the numbers. -W ends a
 * run rotated by time alone, and makes all others a ring.
 */
#include "sinks/rotation.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/macros.h"

bool rotation_asked(const struct sink_rotation *rule)
{
	return rule->bytes || rule->every_ns || rule->events;
}

/* tcpdump lets a file reach the size, and begins the next one with the packet after that. */
static bool is_full(const struct rotation *r, uint64_t bytes)
{
	const uint64_t limit = r->rule->bytes + r->rule->like_tcpdump;

	return (r->rule->bytes && bytes >= limit) || (r->rule->events && r->events >= r->rule->events);
}

static bool is_old(const struct rotation *r, uint64_t ts_ns)
{
	return r->rule->every_ns && ts_ns > r->since_ns && ts_ns - r->since_ns >= r->rule->every_ns;
}

static enum rotation_step next_file(struct rotation *r, uint64_t ts_ns, bool by_time)
{
	const struct sink_rotation *rule = r->rule;
	bool numbered = rule->bytes || rule->events;

	r->n_periods += by_time;
	r->n_files++;
	if (rule->like_tcpdump && by_time) {
		if (!numbered && rule->files && r->n_periods >= rule->files)
			return ROTATION_END;
		r->n_files = 0;
	}
	r->since_ns = ts_ns;
	r->events = 1;
	return ROTATION_NEXT;
}

enum rotation_step rotation_step(struct rotation *r, uint64_t ts_ns, uint64_t bytes)
{
	ts_ns = ts_ns ? ts_ns : 1;
	if (!r->since_ns)
		r->since_ns = ts_ns;
	if (is_old(r, ts_ns))
		return next_file(r, ts_ns, true);
	if (is_full(r, bytes))
		return next_file(r, ts_ns, false);
	r->events++;
	return ROTATION_STAY;
}

/* ---- names ---- */

/* the pattern is the user's */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static bool with_time(char *ret, size_t cap, const char *pattern, const struct tm *tm)
{
	return strftime(ret, cap, pattern, tm) > 0;
}
#pragma GCC diagnostic pop

/* Digits of the highest number of @files; a single one has no number. */
static int digits(uint32_t files)
{
	char text[16];

	return files > 1 ? snprintf(text, sizeof(text), "%u", files - 1) : 0;
}

/* A negative @width: no number. */
static int put(char *ret, size_t cap, const char *path, size_t suffix_len, uint32_t n, int width)
{
	const size_t stem = strlen(path) - MIN(strlen(path), suffix_len);
	int len = width < 0 ? snprintf(ret, cap, "%s", path) :
			      snprintf(ret, cap, "%.*s%0*u%s", (int)stem, path, width, n, path + stem);

	return len < 0 || (size_t)len >= cap ? -ENAMETOOLONG : 0;
}

int rotation_name(const struct rotation *r, int64_t wall_ns, char *ret, size_t cap)
{
	const struct sink_rotation *rule = r->rule;
	uint32_t n = rule->files ? r->n_files % rule->files : r->n_files;
	time_t second = wall_ns / (time_t)NS_PER_S;
	bool timed = strchr(r->path, '%') && (rule->every_ns || !rule->like_tcpdump);
	const char *path = r->path;
	char made[4096];
	struct tm tm;

	if (timed) {
		if (!localtime_r(&second, &tm) || !with_time(made, sizeof(made), r->path, &tm))
			return -ENAMETOOLONG;
		path = made;
	}
	if (!rule->like_tcpdump)
		return put(ret, cap, path, r->suffix_len, n, timed ? -1 : 0);
	if (!rule->bytes && !rule->events)
		return put(ret, cap, path, 0, 0, -1);
	return put(ret, cap, path, r->suffix_len, n, n || digits(rule->files) ? digits(rule->files) : -1);
}
