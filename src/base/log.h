/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages to the user, on stderr. Only src/cmd and src/agent call these above debug level: libraries return an
 * error, and the layer that knows the context reports it once.
 *
 * Messages are escaped (base/str.h) and end with a newline; errno is preserved. Text after a newline within a message
 * is indented, so that it cannot be mistaken for another message.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/macros.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG, LOG_LEVEL__MAX };

/* Messages above @level are dropped. Default: LOG_LEVEL_INFO. */
void log_set_level(enum log_level level);

void log_write(enum log_level level, const char *fmt, ...) _printf_(2, 3);

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
