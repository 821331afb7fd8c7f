// SPDX-License-Identifier: GPL-2.0-or-later
#include "clickhouse/clickhouse_target.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"

#define DEFAULT_PORT 8123
#define DEFAULT_TLS_PORT 8443

static const struct {
	const char *prefix, *scheme;
	unsigned port;
} schemes[] = {
	{ "http://", "http", 0 },
	{ "https://", "https", 0 },
	{ "clickhouse://", "http", DEFAULT_PORT },
	{ "clickhouses://", "https", DEFAULT_TLS_PORT },
};
#define FIRST_INPUT 2

bool clickhouse_target_is_input(const char *path)
{
	for (size_t i = FIRST_INPUT; path && i < ARRAY_SIZE(schemes); i++)
		if (!strncmp(path, schemes[i].prefix, strlen(schemes[i].prefix)))
			return true;
	return false;
}

bool clickhouse_target_is_name(const char *name)
{
	for (const char *s = name; *s; s++)
		if (!isalnum((unsigned char)*s) && *s != '_')
			return false;
	return *name && strlen(name) < CLICKHOUSE_NAME_MAX;
}

void clickhouse_target_add_escaped(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (isalnum((unsigned char)*text) || strchr("-._~", *text))
			buf_add_char(out, *text);
		else
			buf_printf(out, "%%%02X", (unsigned char)*text);
	}
}

void clickhouse_target_add_literal(struct buf *out, const char *text, size_t len)
{
	buf_add_char(out, '\'');
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\'' || text[i] == '\\')
			buf_add_char(out, '\\');
		if ((unsigned char)text[i] >= 0x20)
			buf_add_char(out, text[i]);
		else
			buf_printf(out, "\\x%02X", (unsigned char)text[i]);
	}
	buf_add_char(out, '\'');
}

/* ---- keys ---- */

static int copy(char *to, size_t cap, const char *value)
{
	if (strlen(value) >= cap)
		return -ENAMETOOLONG;
	memcpy(to, value, strlen(value) + 1);
	return 0;
}

/* The first line of a file that only its owner may read. */
static int read_password(const char *path, struct clickhouse_target *t, struct err *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char text[200] = "";
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(err, -errno, "cannot read the password file %s", path);
	if (!S_ISREG(st.st_mode) || st.st_mode & 077)
		return err_set(err, -EPERM, "the password file %s must be a file that only its owner may read (0600)",
			       path);
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return err_errno(err, -errno, "cannot read the password file %s", path);
	text[strcspn(text, "\r\n")] = '\0';
	if (strlen(text) == sizeof(text) - 1)
		return err_set(err, -E2BIG, "the password in %s has more than %zu bytes", path, sizeof(text) - 2);
	snprintf(t->key, sizeof(t->key), "X-ClickHouse-Key: %s", text);
	return 0;
}

static int take_key(struct clickhouse_target *t, const char *key, const char *value, struct err *err)
{
	int r = -EINVAL;

	if (!strcmp(key, "password-file"))
		return read_password(value, t, err);
	if (!strcmp(key, "spool"))
		r = *value == '/' || !strcmp(value, "no") ? copy(t->spool, sizeof(t->spool), value) : -EINVAL;
	else if (!strcmp(key, "spool-size"))
		r = str_to_bytes(value, &t->spool_bytes);
	else if (!strcmp(key, "spool-age"))
		r = str_to_duration_ns(value, &t->spool_age_ns);
	else if (!strcmp(key, "host"))
		r = copy(t->host, sizeof(t->host), value);
	else if (!strcmp(key, "run"))
		r = str_to_u64(value, 10, &t->run);
	if (r >= 0)
		return 0;
	return err_set(err, -EINVAL,
		       "%s: ?%s=%s: expected password-file=FILE, spool=DIR or spool=no, "
		       "spool-size=1G, spool-age=24h, host=NAME or run=NUMBER, separated by &",
		       t->name, key, value);
}

static int take_keys(struct clickhouse_target *t, char *at, struct err *err)
{
	int r = 0;

	while (r >= 0 && *at) {
		char *key = at, *value;

		at += strcspn(at, "&");
		if (*at)
			*at++ = '\0';
		value = strchr(key, '=');
		if (value)
			*value++ = '\0';
		r = take_key(t, key, value ? value : "", err);
	}
	return r;
}

/* ---- the address ---- */

static bool has_port(const char *host)
{
	const char *end = strrchr(host, ']'); /* of an IPv6 address */

	return strchr(end ? end : host, ':');
}

/* @at: [USER@]HOST[:PORT], up to the end. */
static int take_address(struct clickhouse_target *t, const char *scheme, unsigned port, char *at, struct err *err)
{
	char *user = strchr(at, '@') ? at : NULL, text[16] = "";

	if (user) {
		at = strchr(at, '@');
		*at++ = '\0';
		snprintf(t->user, sizeof(t->user), "X-ClickHouse-User: %.100s", user);
		if (strchr(user, ':'))
			return err_set(err, -EINVAL,
				       "%s: passwords do not belong on a command line: "
				       "?password-file=FILE",
				       t->name);
	}
	for (const char *s = at; *s; s++)
		if (!isgraph((unsigned char)*s) || strchr("#%\"'\\", *s))
			*at = '\0';
	if (!*at || *at == ':')
		return err_set(err, -EINVAL, "%s: expected http://HOST:8123/DATABASE", t->name);
	if (port && !has_port(at))
		snprintf(text, sizeof(text), ":%u", port);
	snprintf(t->server, sizeof(t->server), "%s://%s%s/", scheme, at, text);
	snprintf(t->base, sizeof(t->base), "%.*s?database=%s", (int)(sizeof(t->base) - CLICKHOUSE_NAME_MAX - 16),
		 t->server, t->db);
	return 0;
}

static void list_headers(struct clickhouse_target *t)
{
	size_t n = 0;

	if (t->user[0])
		t->headers[n++] = t->user;
	if (t->key[0])
		t->headers[n++] = t->key;
	t->headers[n] = NULL;
}

int clickhouse_target_parse(const char *url, struct clickhouse_target *ret, struct err *err)
{
	char text[192], *keys, *db, *at;
	size_t i = 0;
	int r;

	*ret = (struct clickhouse_target){ .db = "default" };
	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)strcspn(url, "?"), url);
	while (i < ARRAY_SIZE(schemes) && strncmp(url, schemes[i].prefix, strlen(schemes[i].prefix)) != 0)
		i++;
	if (i == ARRAY_SIZE(schemes))
		return err_set(err, -EINVAL, "%s: expected http://HOST:8123/DATABASE", ret->name);
	if (strlen(url) >= sizeof(text))
		return err_set(err, -EINVAL, "%s: the URL and its keys have more than %zu bytes", ret->name,
			       sizeof(text) - 1);
	snprintf(text, sizeof(text), "%s", url + strlen(schemes[i].prefix));
	keys = strchr(text, '?');
	if (keys)
		*keys++ = '\0';
	db = strchr(text, '/');
	if (db)
		*db++ = '\0';
	if (db && *db && (!clickhouse_target_is_name(db) || copy(ret->db, sizeof(ret->db), db) < 0))
		return err_set(err, -EINVAL, "%s: the name of a database has letters, digits and \"_\"", ret->name);
	at = text;
	r = take_address(ret, schemes[i].scheme, schemes[i].port, at, err);
	if (r >= 0 && keys)
		r = take_keys(ret, keys, err);
	list_headers(ret);
	return r;
}
