// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fields of syslog messages: payload written to the socket /dev/log, as far as it was captured. A message is
 * "<PRIORITY>text" (RFC 3164) with PRIORITY = facility * 8 + severity.
 */
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "scap/block.h"
#include "scap/scap_fields_id.h"

#define DIGITS_MAX 3
#define PRIORITY_MAX 191u

static const char *const facilities[] = {
	"kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "clock", "authpriv", "ftp",
	"ntp", "logaudit", "logalert", "cron",
	"local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7",
};
static const char *const severities[] = { "emerg", "alert", "crit", "err", "warn", "notice", "info", "debug" };
_Static_assert(ARRAY_SIZE(facilities) * ARRAY_SIZE(severities) == PRIORITY_MAX + 1, "each priority has names");

/* Under systemd /dev/log is a link to another socket. */
static bool is_log(const struct scap_fd *fd)
{
	return fd && fd->type == FD_UNIX && fd->name &&
	       (strstr(fd->name->data, "/dev/log") || strstr(fd->name->data, "/journal/dev-log"));
}

static bool writes_log(const struct scap_view *v)
{
	return v->info->flags & SCAP_WRITES_FD && is_log(v->fd);
}

struct message { unsigned priority; const char *text; size_t len; };

static bool read_message(const char *s, size_t len, struct message *ret)
{
	size_t i = 1;

	ret->priority = 0;
	for (; i < len && i <= DIGITS_MAX && s[i] >= '0' && s[i] <= '9'; i++)
		ret->priority = ret->priority * 10 + (unsigned)(s[i] - '0');
	if (i == 1 || i >= len || s[0] != '<' || s[i] != '>' || ret->priority > PRIORITY_MAX)
		return false;
	ret->text = s + i + 1;
	ret->len = strnlen(ret->text, len - i - 1);	/* some callers include the NUL */
	return true;
}

int scap_fields_syslog_get(const struct scap_view *v, enum field_id w, struct value *ret)
{
	int i = writes_log(v) && v->p.head->type & 1 ? scap_render_param_index(v, "data") : -1;
	struct message m;
	size_t len;
	const char *s;

	if (w == SF_IS_SYSLOG)
		return value_set_bool(ret, writes_log(v));
	s = i >= 0 ? params_bytes(&v->p, (unsigned)i, &len) : NULL;
	if (!s || !read_message(s, len, &m))
		return -ENOENT;
	switch (w) {
	case SF_FACILITY: return value_set_uint(ret, m.priority >> 3);
	case SF_FACILITY_STR: return value_set_text(ret, facilities[m.priority >> 3]);
	case SF_SEVERITY: return value_set_uint(ret, m.priority & 7);
	case SF_SEVERITY_STR: return value_set_text(ret, severities[m.priority & 7]);
	case SF_MESSAGE: return value_set_chars(ret, m.text, m.len);
	default: return -ENOENT;
	}
}
