// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde store: the stores of sonde record, seen from outside. Segments are read by workers without rights.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <dirent.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/record/record_store.h"
#include "cmd/record/symbolize.h"
#include "sonde/store.h"
#include "store/store_check.h"
#include "store/store_dir.h"
#include "worker/worker.h"

#define CHECK_NS (600 * NS_PER_S)

struct store_conf {
	bool json;
	const char *symfs;
};

/* An open store with its segments. */
struct place {
	char path[512];
	int fd;
	struct store_list list;
	const struct opt_strv *words;	/* the segments that the user named, from the third on */
	bool json;
	const char *symfs;
};

static const struct opt store_opts[] = {
	OPT_ROW(store_conf, json, "json", 'j', OPT_BOOL, NULL, "one JSON object per line"),
	OPT_ROW(store_conf, symfs, "symfs", 0, OPT_STR, "DIR", "symbolize: files below DIR (default /)"),
	OPT_END,
};

static size_t store_sets(void *conf, struct opt_set *ret_sets)
{
	ret_sets[0] = (struct opt_set){ .title = "Output", .opts = store_opts, .conf = conf };
	return 1;
}

static void place_close(struct place *p)
{
	cleanup_close(&p->fd);
	store_dir_list_fini(&p->list);
}

/* A path, the store of that name, or the directory here that sonde record -w NAME wrote. */
static int place_open(const char *name, struct place *ret, struct err *err)
{
	struct stat st;
	int r;

	snprintf(ret->path, sizeof(ret->path), "%s%s", strchr(name, '/') ? "" : RECORD_STORE_ROOT "/", name);
	if (stat(ret->path, &st) < 0 && errno == ENOENT && stat(name, &st) == 0 && S_ISDIR(st.st_mode))
		snprintf(ret->path, sizeof(ret->path), "./%s", name);
	ret->fd = store_dir_open(ret->path, err);
	if (ret->fd < 0)
		return ret->fd;
	r = store_dir_list(ret->fd, &ret->list);
	return r < 0 ? err_errno(err, r, "cannot read %s", ret->path) : 0;
}

/* ---- a segment ---- */

struct job { bool decode; };

static int check_in_worker(void *ctx, int in_fd, int out_fd)
{
	const struct job *j = ctx;
	struct store_segment_facts facts;

	store_check_segment(in_fd, j->decode, &facts);
	return io_write_all(out_fd, &facts, sizeof(facts)) < 0;
}

static int look_at(const struct place *p, const struct store_file *f, bool decode, struct store_segment_facts *ret,
		   struct err *err)
{
	static const struct worker_opts opts = { .name = "sonde-store" };
	struct job job = { .decode = decode };
	char name[STORE_NAME_BYTES];
	_cleanup_close_ int fd = -1;
	ssize_t n;

	store_dir_name(f->number, f->kind, name);
	fd = openat(p->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_errno(err, -errno, "cannot read %s/%s", p->path, name);
	n = worker_call(&opts, check_in_worker, &job, fd, ret, sizeof(*ret), CHECK_NS, err);
	if (n < 0)
		return (int)n;
	ret->host[sizeof(ret->host) - 1] = ret->release[sizeof(ret->release) - 1] = '\0';
	ret->options[sizeof(ret->options) - 1] = '\0';
	if (n != sizeof(*ret))
		return err_set(err, -EBADMSG, "%s/%s: the worker's answer is incomplete", p->path, name);
	return 0;
}

/* Has the user named it, or none? */
static bool is_named(const struct place *p, uint64_t number)
{
	uint64_t n;

	for (size_t i = 2; i < p->words->len; i++)
		if (str_to_u64(p->words->items[i], 10, &n) == 0 && n == number)
			return true;
	return p->words->len <= 2;
}

static void put_time(char *to, size_t cap, const struct store_segment_facts *f, uint64_t ts_ns)
{
	const time_t t = (time_t)((int64_t)(ts_ns + (uint64_t)f->clock_offset_ns) / (int64_t)NS_PER_S);
	struct tm tm;

	if (!ts_ns || !localtime_r(&t, &tm) || !strftime(to, cap, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(to, cap, "-");
}

static const char *const kinds[] = { [STORE_PART] = "open", [STORE_SEALED] = "sealed", [STORE_KEPT] = "kept" };
_Static_assert(ARRAY_SIZE(kinds) == STORE_KIND__MAX, "a word per kind");

static void print_segment(const struct place *p, const struct store_file *f, const struct store_segment_facts *s)
{
	char from[32], to[32];

	put_time(from, sizeof(from), s, s->t_min);
	put_time(to, sizeof(to), s, s->t_max);
	if (p->json)
		printf("{\"v\":1,\"segment\":%" PRIu64 ",\"kind\":\"%s\",\"bytes\":%" PRIu64 ",\"records\":%" PRIu64
		       ",\"raw_bytes\":%" PRIu64 ",\"blocks\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"run\":%" PRIu64
		       ",\"t_min_ns\":%" PRIu64 ",\"t_max_ns\":%" PRIu64 ",\"damaged_bytes\":%" PRIu64 "}\n",
		       f->number, kinds[f->kind], f->bytes, s->records, s->raw_bytes, s->blocks, s->lost, s->run,
		       s->t_min, s->t_max, s->damaged_bytes);
	else
		printf("%8" PRIu64 " %-6s %12" PRIu64 " %10" PRIu64 "  %-19s  %-19s%s\n", f->number, kinds[f->kind],
		       f->bytes, s->records, from, to, s->indexed || f->kind == STORE_PART ? "" : "  no index");
}

/* ---- the verbs ---- */

static int info(struct place *p, struct err *err)
{
	const pid_t writer = store_dir_writer(p->fd);
	uint64_t bytes = 0, records = 0, lost = 0;
	int r = 0;

	if (!p->json)
		printf("%8s %-6s %12s %10s  %-19s  %-19s\n", "segment", "kind", "bytes", "records", "from", "to");
	for (size_t i = 0; i < p->list.files.len; i++) {
		struct store_segment_facts s;
		struct err one = { 0 };
		int n = look_at(p, &p->list.files.items[i], false, &s, &one);

		if (n < 0 || s.error) {
			log_warn("segment %" PRIu64 ": %s", p->list.files.items[i].number,
				 n < 0 ? one.msg : "its head is damaged, or of a later version");
			r = err_set(err, -EBADMSG, "%s: not all segments could be read", p->path);
			continue;
		}
		print_segment(p, &p->list.files.items[i], &s);
		bytes += p->list.files.items[i].bytes;
		records += s.records;
		lost += s.lost;
	}
	if (p->json)
		return r;
	printf("%s: %zu segments, %" PRIu64 " bytes, %" PRIu64 " records, %" PRIu64 " left out", p->path,
	       p->list.files.len, bytes, records, lost);
	if (writer)
		printf("; being written by pid %d", (int)writer);
	putchar('\n');
	return r;
}

/* The records of each probe since the start of the run, against the probe's own ledger. */
struct run_sums { uint64_t run, number, sum[SONDE_INSTANCES]; bool whole; };

static int compare(const struct place *p, const struct store_file *f, struct run_sums *b,
		   const struct store_segment_facts *s, struct err *err)
{
	if (s->run != b->run)
		*b = (struct run_sums){ .run = s->run, .whole = s->begins_run };
	else if (f->number != b->number + 1)
		b->whole = false;
	b->number = f->number;
	for (unsigned i = 0; i < SONDE_INSTANCES; i++) {
		b->sum[i] += s->by_instance[i];
		if (!b->whole || !s->has_ledger || b->sum[i] + s->lost >= s->delivered[i])
			continue;
		b->whole = false;
		if (s->lost || s->damages)
			continue;
		log_info("segment %" PRIu64 ": instance %u: %" PRIu64 " records since the start of the run, of %"
			 PRIu64 " delivered ones in its ledger", f->number, i, b->sum[i], s->delivered[i]);
	}
	if (!s->damages)
		return 0;
	return err_set(err, -EBADMSG, "%s: damaged; the other segments and blocks can be read", p->path);
}

static int check(struct place *p, struct err *err)
{
	struct run_sums sums = { 0 };
	uint64_t records = 0;
	int r = 0;

	vec_each(f, &p->list.files) {
		struct store_segment_facts s;
		int n;

		if (!is_named(p, f->number))
			continue;
		n = look_at(p, f, true, &s, err);
		if (n < 0)
			return n;
		if (s.error && !(f->kind == STORE_PART && s.error == -ENODATA))
			r = err_set(err, -EBADMSG, "%s: segment %" PRIu64 " is damaged, or of a later version",
				    p->path, f->number);
		if (s.error)
			continue;
		records += s.read;
		if (s.damages)
			log_warn("segment %" PRIu64 ": %" PRIu64 " bytes in %" PRIu64 " places are unreadable",
				 f->number, s.damaged_bytes, s.damages);
		n = compare(p, f, &sums, &s, err);
		r = n < 0 ? n : r;
		if (p->json)
			print_segment(p, f, &s);
	}
	if (!p->json)
		printf("%s: %" PRIu64 " records read%s\n", p->path, records, r < 0 ? "" : ", no damage");
	return r;
}

static int keep(struct place *p, struct err *err)
{
	unsigned n = 0;

	vec_each(f, &p->list.files) {
		char from[STORE_NAME_BYTES], to[STORE_NAME_BYTES];

		if (f->kind != STORE_SEALED || !is_named(p, f->number))
			continue;
		store_dir_name(f->number, STORE_SEALED, from);
		store_dir_name(f->number, STORE_KEPT, to);
		if (renameat(p->fd, from, p->fd, to) < 0)
			return err_errno(err, -errno, "cannot keep %s/%s", p->path, from);
		n++;
	}
	printf("%s: %u segments are kept from now on\n", p->path, n);
	return 0;
}

static int drop(struct place *p, struct err *err)
{
	const bool all = p->words->len <= 2;
	_cleanup_close_ int lock = all ? store_dir_lock(p->fd, p->path, err) : -1;
	unsigned n = 0;

	if (all && lock < 0)
		return lock;
	vec_each(f, &p->list.files) {
		char name[STORE_NAME_BYTES];

		if (!is_named(p, f->number) || (f->kind == STORE_PART && !all))
			continue;
		store_dir_name(f->number, f->kind, name);
		if (unlinkat(p->fd, name, 0) < 0 && errno != ENOENT)
			return err_errno(err, -errno, "cannot remove %s/%s", p->path, name);
		n++;
	}
	if (all && (unlinkat(p->fd, "lock", 0) < 0 || rmdir(p->path) < 0))
		log_warn("%s: %s", p->path, strerror(errno));
	printf("%s: %u segments removed\n", p->path, n);
	return 0;
}

/* A segment that cannot be read stays as it is, and the others get their names. */
static int symbolize(struct place *p, struct err *err)
{
	struct symbolize_counts counts = { 0 };
	int r = 0;

	vec_each(f, &p->list.files) {
		if (f->kind == STORE_PART || !is_named(p, f->number))
			continue;
		if (symbolize_segment(p->path, p->fd, f, p->symfs ? p->symfs : "/", &counts, err) < 0)
			r = err->code;
	}
	if (p->json)
		printf("{\"v\":1,\"named\":%" PRIu64 ",\"missing\":%" PRIu64 "}\n", counts.named, counts.missing);
	else
		printf("%s: %" PRIu64 " addresses named, %" PRIu64 " of files that are not here\n", p->path,
		       counts.named, counts.missing);
	return r;
}

/* Every minor version so far is the current one. */
static int upgrade(struct place *p, struct err *err)
{
	int r = check(p, err);

	if (r >= 0 && !p->json)
		printf("%s: format %d.%d, the current and only version: nothing to change\n", p->path,
		       SONDE_STORE_MAJOR, SONDE_STORE_MINOR);
	return r;
}

/* ---- the command ---- */

static const struct { const char *name; int (*run)(struct place *p, struct err *err); } verbs[] = {
	{ "info", info }, { "check", check }, { "keep", keep }, { "drop", drop }, { "symbolize", symbolize },
	{ "upgrade", upgrade },
};

static int run_verb(const struct store_conf *c, const struct opt_strv *words, struct err *err)
{
	struct place p = { .fd = -1, .words = words, .json = c->json, .symfs = c->symfs };
	int r = -EINVAL;

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(verbs[i].name, words->items[0]) != 0)
			continue;
		r = place_open(words->len > 1 ? words->items[1] : RECORD_STORE_DEFAULT, &p, err);
		if (r >= 0)
			r = verbs[i].run(&p, err);
		place_close(&p);
		return r;
	}
	return err_set(err, -EINVAL, "store %s: expected list, info, check, keep, drop, symbolize or upgrade",
		       words->items[0]);
}

static int list_one(const char *name, bool json)
{
	struct place p = { .fd = -1 };
	struct err err = { 0 };
	uint64_t bytes = 0;
	int r = place_open(name, &p, &err);

	for (size_t i = 0; r >= 0 && i < p.list.files.len; i++)
		bytes += p.list.files.items[i].bytes;
	if (r >= 0 && p.list.files.len && json)
		printf("{\"v\":1,\"store\":\"%s\",\"segments\":%zu,\"bytes\":%" PRIu64 ",\"writer\":%d}\n", name,
		       p.list.files.len, bytes, (int)store_dir_writer(p.fd));
	else if (r >= 0 && p.list.files.len)
		printf("%-20s %8zu %15" PRIu64 "  %s\n", name, p.list.files.len, bytes,
		       store_dir_writer(p.fd) ? "being written" : "");
	place_close(&p);
	return r;
}

static int list(const struct store_conf *c, struct err *err)
{
	_cleanup_(closedirp) DIR *d = opendir(RECORD_STORE_ROOT);
	struct dirent *e;

	if (!d && errno == ENOENT)
		return 0;
	if (!d)
		return err_errno(err, -errno, "cannot read " RECORD_STORE_ROOT);
	if (!c->json)
		printf("%-20s %8s %15s\n", "store", "segments", "bytes");
	while ((e = readdir(d)))
		if (e->d_name[0] != '.' && str_is_plain(e->d_name, strlen(e->d_name)))
			list_one(e->d_name, c->json);
	return 0;
}

static int store_run(void *conf, const struct cmd_words *w)
{
	const struct store_conf *c = conf;
	struct err err = { 0 };
	int r;

	if (!w->words.len || !strcmp(w->words.items[0], "list"))
		r = list(c, &err);
	else
		r = run_verb(c, &w->words, &err);
	return r < 0 ? cmd_fail(r, &err) : cmd_exit_status(r);
}

static const struct cmd_example store_examples[] = {
	{ "sonde store list", "the stores below " RECORD_STORE_ROOT },
	{ "sonde store info web", "its segments: sizes and times" },
	{ "sonde store check web", "decode all of it; also of a directory web that record -w wrote here" },
	{ "sonde store symbolize web --symfs /srv/image", "function names from the files that ran there" },
	{ "sonde store keep web 41 42", "limits of sonde record do not remove these segments" },
	{ 0 },
};

const struct cmd cmd_store = {
	.name = "store", .summary = "stores of sonde record: list, check, keep, drop, name stacks",
	.args = "VERB [NAME [SEGMENT...]]",
	.doc = "The verb list shows the stores below " RECORD_STORE_ROOT "; the others take the name of one, the "
	       "name of a directory here, or a path. info shows the segments; check decodes all of them and "
	       "compares the records with the ledgers of "
	       "the probes; keep excludes segments from removal by --max-size and the like; drop removes segments, "
	       "or all of the store unless it is being written.\n\n"
	       "symbolize names the addresses of stacks that have no name in the store, by files of this host or "
	       "below --symfs, if their build id is that of the mapping; a segment is replaced as a whole, while "
	       "others read it. upgrade turns segments of an older format into the current one.\n\n"
	       "Damage is reported, exit status 1, and never removed.",
	.examples = store_examples, .conf_size = sizeof(struct store_conf), .sets = store_sets, .run = store_run,
};
