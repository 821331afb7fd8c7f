// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* lint-ok(mutable_globals): one per process, like standard error */
static enum log_level max_level = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
	max_level = level;
}

void log_write(enum log_level level, const char *fmt, ...)
{
	static const char *const prefix[] = {
		[LOG_LEVEL_ERROR] = "sonde: ",
		[LOG_LEVEL_WARN] = "sonde: warning: ",
		[LOG_LEVEL_INFO] = "",
		[LOG_LEVEL_DEBUG] = "sonde: debug: ",
	};
	int saved = errno;
	char text[2048], safe[4096];
	const char *prefix_now = prefix[level];
	va_list ap;

	_Static_assert(ARRAY_SIZE(prefix) == LOG_LEVEL__MAX, "a prefix per level");
	if (level > max_level)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *rest = text, *line; (line = strsep(&rest, "\n")); prefix_now = "  ") {
		str_escape(safe, sizeof(safe), line, strlen(line));
		fprintf(stderr, "%s%s\n", prefix_now, safe);
	}
	errno = saved;
}
