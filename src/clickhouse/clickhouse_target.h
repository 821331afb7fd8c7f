/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A ClickHouse database as users write it:
 *   http://[USER@]HOST:8123/DB[?KEY=VALUE&...]		an output (https:// too)
 *   clickhouse://[USER@]HOST[:PORT]/DB[?KEY=VALUE&...]	an input (clickhouses:// over TLS)
 * Keys: password-file; of outputs spool, spool-size, spool-age; of inputs host, run.
 */
#ifndef CLICKHOUSE_CLICKHOUSE_TARGET_H
#define CLICKHOUSE_CLICKHOUSE_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

#define CLICKHOUSE_NAME_MAX 64 /* bytes of the names of databases, tables and columns, NUL included */
#define CLICKHOUSE_HEADERS 3
#define CLICKHOUSE_SPOOL_DIR "/var/spool/sonde"

struct clickhouse_target {
	char name[256];	  /* as the user wrote it, for messages, without the keys */
	char base[256];	  /* http://HOST:PORT/?database=DB */
	char server[256]; /* http://HOST:PORT/ */
	char db[CLICKHOUSE_NAME_MAX];
	char spool[256];			 /* directory; "no" = none; "" = the default */
	uint64_t spool_bytes;			 /* 0 = default */
	uint64_t spool_age_ns;			 /* 0 = default */
	char host[256];				 /* the input's; "" = the only one */
	uint64_t run;				 /* the input's; 0 = the newest */
	char user[128], key[256];		 /* whole header lines, "" = none */
	const char *headers[CLICKHOUSE_HEADERS]; /* of both, up to NULL */
};

/* Is @path, of -r, the URL of an input? */
bool clickhouse_target_is_input(const char *path);

/* -EINVAL with a sentence; reads the password file. *ret holds pointers into itself: do not copy it. */
int clickhouse_target_parse(const char *url, struct clickhouse_target *ret, struct err *err);

/* Is @name safe as the name of a database, table or column: letters, digits and "_"? */
bool clickhouse_target_is_name(const char *name);

/* Appends @text percent-encoded, for a URL; or as a literal of SQL, quotes included. */
void clickhouse_target_add_escaped(struct buf *out, const char *text);
void clickhouse_target_add_literal(struct buf *out, const char *text, size_t len);

#endif
