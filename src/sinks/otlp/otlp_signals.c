// SPDX-License-Identifier: GPL-2.0-or-later
#include "sinks/otlp/otlp_signals.h"

#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
#include "sinks/sink.h"

/* "http://HOST:4318", with or without a slash behind it. */
static bool is_base_url(const char *path)
{
	const char *host = path ? strstr(path, "://") : NULL;
	size_t len = host ? strcspn(host + 3, "/?#") : 0;

	return host && (!host[3 + len] || !strcmp(host + 3 + len, "/"));
}

size_t otlp_signals(const struct sink_ops *ops, const char *path, const char *own,
		    const struct sink_ops *ret[OTLP_SIGNALS])
{
	static const char *const names[] = { "otlp", "otlp-metrics", "otlp-logs", "otlp-profiles" };
	size_t n = 1;

	_Static_assert(ARRAY_SIZE(names) == OTLP_SIGNALS, "all signals fit");
	ret[0] = ops;
	if (strcmp(ops->name, names[0]) != 0)
		return n;
	ret[0] = own ? sink_find(own) : ops;
	for (size_t i = 0; is_base_url(path) && i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], ret[0]->name) != 0)
			ret[n++] = sink_find(names[i]);
	return n;
}
