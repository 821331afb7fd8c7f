/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages for people, on stderr. Only src/cmd and src/agent call these above debug level:
 * libraries return an error and let the layer that knows the context speak once.
 *
 * Every message is escaped (base/str.h) and ends with a newline; errno survives a call. A newline inside
 * starts a continuation line, indented so that it cannot pass for a message of its own.
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
