// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde clickhouse: the tables that -o clickhouse: writes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "clickhouse/clickhouse_query.h"
#include "clickhouse/clickhouse_schema.h"
#include "clickhouse/clickhouse_target.h"
#include "cmd/cmd.h"
#include "cmd/run/run_query.h"
#include "event/decode.h"
#include "event/event.h"

#define NEW_PROFILE 26
#define OLD_PROFILE 18
#define FIRST_NEW_VERSION 22 /* has all that the new profile uses */
#define SETTING "&" CLICKHOUSE_SCHEMA_SETTING "=1"

struct clickhouse_conf {
	uint32_t profile; /* 0 = by the server's version */
	uint64_t ttl_ns;
	const char *cluster; /* NULL = one server */
	int64_t since_ns, until_ns; /* of sides; wall clock, 0 = no bound */
};

static int on_since(void *conf, const char *arg, struct err *err)
{
	return run_query_take_time("since", arg, &((struct clickhouse_conf *)conf)->since_ns, err);
}

static int on_until(void *conf, const char *arg, struct err *err)
{
	return run_query_take_time("until", arg, &((struct clickhouse_conf *)conf)->until_ns, err);
}

static const struct opt clickhouse_opts[] = {
	OPT_ROW(clickhouse_conf, profile, "profile", 0, OPT_U32, "18|26", "types and codecs of old or new servers",
		.more = "default: by the server's version, 18 without a server; rows are the same in both"),
	OPT_ROW(clickhouse_conf, ttl_ns, "ttl", 0, OPT_DURATION, "TIME", "remove rows after TIME (24h); profile 26"),
	OPT_ROW(clickhouse_conf, cluster, "cluster", 0, OPT_STR, "NAME",
		"besides, DB_all over the servers of this cluster",
		.more = "NAME is that of remote_servers in the configuration of the servers; init each of them"),
	OPT_CALL_ROW(on_since, "since", 0, "TIME", "with sides: calls from TIME on (10m ago, 14:30, @seconds)"),
	OPT_CALL_ROW(on_until, "until", 0, "TIME", "with sides: calls up to TIME"),
	OPT_END,
};

static size_t clickhouse_sets(void *conf, struct opt_set *ret_sets)
{
	ret_sets[0] = (struct opt_set){ .title = "Tables", .opts = clickhouse_opts, .conf = conf };
	return 1;
}

static int add_types(struct registry *reg)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && all_decoders[i]; i++)
		r = registry_add(reg, all_decoders[i]->events);
	return r;
}

static int make_schema(struct registry *reg, struct clickhouse_schema **ret, struct err *err)
{
	int r = reg ? add_types(reg) : -ENOMEM;

	if (r >= 0)
		r = clickhouse_schema_new(reg, ret);
	return r < 0 ? err_errno(err, r, "cannot list the event types") : 0;
}

static struct clickhouse_ddl settle(const struct clickhouse_conf *c, int version)
{
	const uint64_t day_ns = 86400 * NS_PER_S;

	return (struct clickhouse_ddl){
		.profile = c->profile			  ? c->profile
			   : version >= FIRST_NEW_VERSION ? NEW_PROFILE
							  : OLD_PROFILE,
		.ttl_days = (unsigned)((c->ttl_ns + day_ns - 1) / day_ns),
	};
}

/* Tables of the old profile keep their rows: the server has no TTL. @version: 0 = without a server. */
static int check_ttl(const struct clickhouse_conf *c, int version, struct err *err)
{
	if (!c->ttl_ns || settle(c, version).profile != OLD_PROFILE)
		return 0;
	if (c->profile || !version)
		return err_set(err, -EINVAL, "--ttl: tables of profile 18 have no TTL; --profile 26 has it");
	return err_set(err, -EINVAL,
		       "--ttl: this server, version %d, has no TTL (from %d on); remove old days by "
		       "ALTER TABLE ... DROP PARTITION 'YYYY-MM-DD'",
		       version, FIRST_NEW_VERSION);
}

/* ---- verbs ---- */

static int print_ddl(const struct clickhouse_conf *c, const struct clickhouse_schema *s)
{
	const struct clickhouse_ddl o = settle(c, 0);
	_cleanup_(buf_fini) struct buf text = { 0 };

	if (o.profile == OLD_PROFILE)
		buf_add_str(&text, "SET " CLICKHOUSE_SCHEMA_SETTING " = 1;\n\n");
	clickhouse_schema_ddl(s, &o, &text);
	clickhouse_schema_views(s, &text);
	fputs(buf_str(&text), stdout);
	return buf_error(&text);
}

static int print_sides(const struct clickhouse_conf *c, const struct opt_strv *words, struct err *err)
{
	_cleanup_(buf_fini) struct buf text = { 0 };

	if (words->len > 1)
		return err_set(err, -EINVAL, "clickhouse sides prints a query and asks no server: %s",
			       words->items[1]);
	clickhouse_schema_sides(c->since_ns, c->until_ns, &text);
	puts(buf_str(&text));
	return buf_error(&text);
}

#define CLUSTER_SUFFIX "_all"

/* The database DB_all: its tables read those of DB on every server of the cluster. */
static int create_cluster(const struct clickhouse_conf *c, const struct clickhouse_schema *s,
			  const struct clickhouse_target *t, struct err *err)
{
	const struct clickhouse_query_opts whole = { .whole = true }, setting = { .settings = SETTING };
	_cleanup_(buf_fini) struct buf db = { 0 }, tables = { 0 };
	struct clickhouse_target all = *t;
	int r;

	if (!c->cluster)
		return 0;
	if (!clickhouse_target_is_name(c->cluster))
		return err_set(err, -EINVAL, "--cluster %s: a name has letters, digits and \"_\"", c->cluster);
	if (strlen(all.base) + sizeof(CLUSTER_SUFFIX) > sizeof(all.base))
		return err_set(err, -EINVAL, "%s: the URL is too long", t->name);
	strcat(all.base, CLUSTER_SUFFIX);
	buf_printf(&db, "CREATE DATABASE IF NOT EXISTS %s" CLUSTER_SUFFIX ";\n", t->db);
	r = clickhouse_query(t, buf_str(&db), &whole, NULL, err);
	clickhouse_schema_distributed(s, t->db, c->cluster, &tables);
	clickhouse_schema_views(s, &tables);
	if (r >= 0)
		r = clickhouse_query(&all, buf_str(&tables), &setting, NULL, err);
	if (r >= 0)
		printf("%s" CLUSTER_SUFFIX ": the same tables on all servers of %s\n", t->name, c->cluster);
	return r;
}

static int create(const struct clickhouse_conf *c, const struct clickhouse_schema *s,
		  const struct clickhouse_target *t, int version, struct err *err)
{
	const struct clickhouse_ddl o = settle(c, version);
	const struct clickhouse_query_opts whole = { .whole = true }, setting = { .settings = SETTING };
	_cleanup_(buf_fini) struct buf db = { 0 }, tables = { 0 };
	int r;

	buf_printf(&db, "CREATE DATABASE IF NOT EXISTS %s;\n", t->db);
	r = clickhouse_query(t, buf_str(&db), &whole, NULL, err);
	clickhouse_schema_ddl(s, &o, &tables);
	clickhouse_schema_views(s, &tables);
	if (r >= 0)
		r = clickhouse_query(t, buf_str(&tables), &setting, NULL, err);
	if (r >= 0)
		printf("%s: %zu tables\n", t->name, s->tables.len);
	return r < 0 ? r : create_cluster(c, s, t, err);
}

static int upgrade(const struct clickhouse_conf *c, struct clickhouse_schema *s, const struct clickhouse_target *t,
		   int version, struct err *err)
{
	const struct clickhouse_ddl o = settle(c, version);
	const struct clickhouse_query_opts setting = { .settings = SETTING };
	_cleanup_(buf_fini) struct buf known = { 0 }, changes = { 0 };
	int r = clickhouse_query(t, CLICKHOUSE_SCHEMA_ASK ";\n", NULL, &known, err);

	if (r >= 0)
		r = clickhouse_schema_settle(s, buf_str(&known));
	clickhouse_schema_upgrade(s, &o, &changes);
	clickhouse_schema_views(s, &changes);
	if (r >= 0)
		r = clickhouse_query(t, buf_str(&changes), &setting, NULL, err);
	if (r >= 0)
		printf("%s: %zu tables and columns added\n", t->name, s->n_absent);
	return r < 0 ? r : create_cluster(c, s, t, err);
}

static int with_server(const struct clickhouse_conf *c, struct clickhouse_schema *s, const struct opt_strv *words,
		       struct err *err)
{
	const char *verb = words->items[0];
	struct clickhouse_target t;
	int r, version;

	if (words->len != 2)
		return err_set(err, -EINVAL, "clickhouse %s: name the database: http://HOST:8123/DB", verb);
	r = clickhouse_target_parse(words->items[1], &t, err);
	if (r < 0)
		return r;
	version = clickhouse_query_version(&t, err);
	if (version < 0)
		return version;
	r = check_ttl(c, version, err);
	if (r < 0)
		return r;
	return !strcmp(verb, "init") ? create(c, s, &t, version, err) : upgrade(c, s, &t, version, err);
}

static int run_verb(const struct clickhouse_conf *c, struct clickhouse_schema *s, const struct opt_strv *words,
		    struct err *err)
{
	const char *verb = words->len ? words->items[0] : "";

	if (c->profile && c->profile != OLD_PROFILE && c->profile != NEW_PROFILE)
		return err_set(err, -EINVAL, "--profile %u: expected 18 or 26", c->profile);
	if (c->cluster && !strcmp(verb, "ddl"))
		return err_set(err, -EINVAL, "--cluster: ddl knows no database; init and upgrade do");
	if ((c->since_ns || c->until_ns) && strcmp(verb, "sides") != 0)
		return err_set(err, -EINVAL, "--since and --until select calls: clickhouse sides has them");
	if (!strcmp(verb, "sides"))
		return print_sides(c, words, err);
	if (!strcmp(verb, "ddl"))
		return check_ttl(c, 0, err) < 0 ? err->code : print_ddl(c, s);
	if (!strcmp(verb, "init") || !strcmp(verb, "upgrade"))
		return with_server(c, s, words, err);
	return err_set(err, -EINVAL, "clickhouse%s%s: expected ddl, init, upgrade or sides", *verb ? " " : "", verb);
}

static int clickhouse_run(void *conf, const struct cmd_words *w)
{
	struct registry *reg = registry_new();
	struct clickhouse_schema *s = NULL;
	struct err err = { 0 };
	int r = make_schema(reg, &s, &err);

	if (r >= 0)
		r = run_verb(conf, s, &w->words, &err);
	clickhouse_schema_free(s);
	registry_free(reg);
	return r < 0 ? cmd_fail(r, &err) : cmd_exit_status(r);
}

static const struct cmd_example clickhouse_examples[] = {
	{ "sonde clickhouse init http://db.example:8123/sonde", "create the database and its tables" },
	{ "sonde clickhouse upgrade http://db.example:8123/sonde", "after an update of sonde" },
	{ "sonde clickhouse ddl --profile 26", "the statements, for a server of 2026" },
	{ "sonde clickhouse sides --since 1h", "the query for both sides of the last hour's calls" },
	{ 0 },
};

const struct cmd cmd_clickhouse = {
	.name = "clickhouse",
	.summary = "tables of -o clickhouse: print, create, upgrade",
	.args = "ddl|init|upgrade|sides [http://HOST:8123/DB]",
	.doc = "ddl prints the statements that create the tables; init creates the database and the tables on a "
	       "server; upgrade adds the tables and columns that a newer sonde writes. There is a table per event "
	       "type, with a column per field: drop.reason is drop_reason in the table net_drop. Besides there are "
	       "run (a row per run), record (the records, which -r clickhouse:// reads) and ledger (rows made, "
	       "delivered and lost, by table). The view call_sides joins both sides of a call, also of two hosts, "
	       "with the network time. A question to it reads the calls of all times: sides prints the query of the "
	       "view with --since and --until inside, and the server reads the rows of this span only.\n\n"
	       "-o clickhouse:http://[USER@]HOST:8123/DB inserts rows in blocks, each exactly once. Blocks wait "
	       "in " CLICKHOUSE_SPOOL_DIR " while the server is away, also over a restart. Options stand in the URL, "
	       "separated by &: ?spool=DIR (or no), spool-size=1G, spool-age=24h, password-file=FILE, whose mode "
	       "is 0600.\n\n"
	       "With --cluster, init and upgrade also make the database DB_all, whose tables read those of DB on "
	       "every server of a cluster. Each host sends its rows to DB on one of the servers; DB_all is for "
	       "reading.\n\n"
	       "-r clickhouse://[USER@]HOST[:8123]/DB reads the newest run of a host back, like a file; ?host=NAME "
	       "and ?run=NUMBER select one.",
	.examples = clickhouse_examples,
	.conf_size = sizeof(struct clickhouse_conf),
	.sets = clickhouse_sets,
	.run = clickhouse_run,
};
