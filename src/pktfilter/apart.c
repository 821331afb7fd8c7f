// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs libpcap's compiler in a worker process, checks the code that it returns, and derives the kernel's code from it
 * here. The worker cannot resolve names: libpcap's error then has the unknown name and its kind.
 */
#include "pktfilter/pktfilter.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <linux/filter.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/io.h"
#include "base/macros.h"
#include "pktfilter/pktfilter_filter.h"
#include "worker/worker.h"

#define ANSWER_BYTES (2u << 20)
#define MEMORY_BYTES (64u << 20)
#define WAIT_TIMES 20		/* wall-clock limit, in limits of processor time: the CPUs are shared */
#define WAIT_LEAST_NS 2000000000ull
#define NAMES_MAX 64

DEFINE_CLEANUP(struct pktfilter *, pktfilter_free)

/* Head of the worker's answer; the instructions of each start follow. */
struct answer {
	int32_t code;				/* 0 or a negative errno, with msg */
	uint32_t n[START__MAX];			/* instructions; 0 = none */
	char why[START__MAX][sizeof(((struct filter_code *)0)->why)];
	char msg[sizeof(((struct err *)0)->msg)];
};

/* ---- worker ---- */

static int put_answer(const struct pktfilter *f, const struct err *err, int r, int fd)
{
	struct answer a = { .code = r };

	snprintf(a.msg, sizeof(a.msg), "%s", r < 0 ? err->msg : "");
	for (int s = 0; s < START__MAX; s++) {
		a.n[s] = r >= 0 && f->code[s].insns ? (uint32_t)f->code[s].n : 0;
		memcpy(a.why[s], f->code[s].why, sizeof(a.why[s]));
	}
	if (io_write_all(fd, &a, sizeof(a)) < 0)
		return 1;
	for (int s = 0; s < START__MAX; s++)
		if (a.n[s] && io_write_all(fd, f->code[s].insns, a.n[s] * sizeof(*f->code[s].insns)) < 0)
			return 1;
	return 0;
}

/* @ctx: the expression. */
static int work(void *ctx, _unused_ int in_fd, int out_fd)
{
	struct pktfilter f = { .expr = ctx };
	struct err err = { 0 };

	return put_answer(&f, &err, pktfilter_filter_compile(&f, &err), out_fd);
}
WORKER_PLAIN(work);

/* ---- parent ---- */

static int take_code(struct filter_code *c, struct cursor *from, uint32_t n)
{
	const void *bytes = n ? cur_bytes(from, (size_t)n * sizeof(*c->insns)) : NULL;

	if (!bytes)
		return n ? -EBADMSG : 0;
	c->insns = malloc((size_t)n * sizeof(*c->insns));
	if (!c->insns)
		return -ENOMEM;
	memcpy(c->insns, bytes, (size_t)n * sizeof(*c->insns));
	c->n = n;
	return libpcap_valid(c->insns, n) ? 0 : -EBADMSG;
}

#define RANGE_END "' is not a valid port"	/* libpcap 1.10.5: 'ssh' of "portrange ssh-domain" */

/* True for "unknown host 'x'" and the like: names that pktfilter_resolve() replaces. */
static bool is_name(const char *msg)
{
	return strstr(msg, "unknown host '") || strstr(msg, "unknown network '") || strstr(msg, "unknown port '") ||
	       strstr(msg, "unknown port in range '") || strstr(msg, RANGE_END) || strstr(msg, "unknown ip proto '");
}

static int take_answer(struct pktfilter *f, const char *bytes, size_t len, struct err *err)
{
	struct cursor c = cur_init(bytes, len);
	struct answer a;
	int r = 0;

	if (!cur_copy(&c, &a, sizeof(a)))
		return err_set(err, -EBADMSG, "cannot compile the packet filter: the worker process did not answer");
	a.msg[sizeof(a.msg) - 1] = '\0';
	if (a.code < 0)
		return err_set(err, is_name(a.msg) ? -ENOKEY : a.code, "%s", a.msg);
	for (int s = 0; r >= 0 && s < START__MAX; s++) {
		memcpy(f->code[s].why, a.why[s], sizeof(a.why[s]));
		f->code[s].why[sizeof(a.why[s]) - 1] = '\0';
		r = take_code(&f->code[s], &c, a.n[s]);
	}
	return r < 0 ? err_errno(err, r, "cannot use the code that libpcap generated for the packet filter") : 0;
}

/* Turns a time limit of the worker into a message about the expression. */
static int too_long(int r, struct err *err)
{
	if (r != -ETIMEDOUT && !(r == -ECHILD && strstr(err->msg, "processor time")))
		return r;
	return err_set(err, -ETIMEDOUT, "packet filter: libpcap takes too long to compile it; "
		       "networks (net 10.0.0.0/8) instead of many addresses help");
}

int pktfilter_compile(const char *expr, uint64_t cpu_ns, struct pktfilter **ret, struct err *err)
{
	const struct worker_opts o = {
		.name = "sonde pcap", .memory_bytes = MEMORY_BYTES, .cpu_ns = cpu_ns, .refuse = true,
		.ctx_bytes = strlen(expr) + 1,
	};
	_cleanup_(pktfilter_freep) struct pktfilter *f = calloc(1, sizeof(*f));
	_cleanup_free_ char *answer = malloc(ANSWER_BYTES);
	ssize_t n;
	int r;

	if (f)
		f->expr = strdup(expr);
	if (!f || !f->expr || !answer)
		return err_errno(err, -ENOMEM, "cannot compile the packet filter");
	r = pktfilter_prepare(err);
	if (r < 0)
		return r;
	n = worker_call(&o, work, f->expr, -1, answer, ANSWER_BYTES, MAX(cpu_ns * WAIT_TIMES, WAIT_LEAST_NS), err);
	if (n < 0)
		return too_long((int)n, err);
	r = take_answer(f, answer, (size_t)n, err);
	if (r >= 0)
		r = pktfilter_filter_finish(f, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(f);
	return 0;
}

/* ---- names ---- */

/* Copies the quoted word that follows @before in @msg. */
static bool quoted(const char *msg, const char *before, char *ret, size_t cap)
{
	const char *p = strstr(msg, before), *end;

	p = p ? p + strlen(before) : NULL;
	end = p ? strchr(p, '\'') : NULL;
	if (!end || end == p || (size_t)(end - p) >= cap)
		return false;
	snprintf(ret, cap, "%.*s", (int)(end - p), p);
	return true;
}

static int put_addresses(const char *name, struct buf *out)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *all = NULL;

	if (getaddrinfo(name, NULL, &hints, &all) != 0 || !all)
		return -ENOENT;
	buf_add_char(out, '(');
	for (const struct addrinfo *a = all; a; a = a->ai_next) {
		char text[NI_MAXHOST];

		if (getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof(text), NULL, 0, NI_NUMERICHOST) == 0)
			buf_printf(out, "%s%s", a == all ? "" : " or ", text);
	}
	freeaddrinfo(all);
	return buf_add_char(out, ')');
}

static int put_port(const char *name, struct buf *out)
{
	const struct servent *s = getservbyname(name, NULL);

	return s ? buf_printf(out, "%u", ntohs((uint16_t)s->s_port)) : -ENOENT;
}

/* "http-https"; each end may be a number already. */
static int put_range(const char *range, struct buf *out)
{
	const char *dash = range;
	int r = -ENOENT;

	while (r < 0 && (dash = strchr(dash + 1, '-'))) {	/* names may contain dashes */
		char from[64], to[64];

		snprintf(from, sizeof(from), "%.*s", (int)(dash - range), range);
		snprintf(to, sizeof(to), "%s", dash + 1);
		buf_reset(out);
		r = isdigit((unsigned char)*from) ? buf_add_str(out, from) : put_port(from, out);
		if (r >= 0)
			r = buf_add_char(out, '-');
		if (r >= 0)
			r = isdigit((unsigned char)*to) ? buf_add_str(out, to) : put_port(to, out);
	}
	return r;
}

static int put_network(const char *name, struct buf *out)
{
	const struct netent *n = getnetbyname(name);
	uint32_t net = n ? n->n_net : 0;

	while (net && !(net >> 24))
		net <<= 8;
	return n ? buf_printf(out, "%u.%u.%u.%u", net >> 24, net >> 16 & 255, net >> 8 & 255, net & 255) : -ENOENT;
}

static int put_proto(const char *name, struct buf *out)
{
	const struct protoent *p = getprotobyname(name);

	return p ? buf_printf(out, "%d", p->p_proto) : -ENOENT;
}

static const struct {
	const char *before;
	int (*put)(const char *name, struct buf *out);
} kinds[] = {
	{ "unknown host '", put_addresses }, { "unknown port '", put_port }, { "unknown port in range '", put_range },
	{ "unknown network '", put_network }, { "unknown ip proto '", put_proto },
};

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("._-", c));
}

/* Extends the port name @name to the port range of @text that begins or ends with it. False if there is none. */
static bool extend_to_range(const char *text, char *name, size_t cap)
{
	size_t len = strlen(name);

	for (size_t n; *text; text += n + !n) {
		for (n = 0; is_word_char(text[n]); n++)
			;
		if (n <= len + 1 || n >= cap)
			continue;
		if ((!strncmp(text, name, len) && text[len] == '-') ||
		    (!strncmp(text + n - len, name, len) && text[n - len - 1] == '-')) {
			snprintf(name, cap, "%.*s", (int)n, text);
			return true;
		}
	}
	return false;
}

/* Resolves the name in libpcap's error @msg about @text: its number to @out, the name to @ret_name. */
static int resolve(const char *msg, const char *text, char *ret_name, size_t cap, struct buf *out)
{
	if (strstr(msg, RANGE_END) && quoted(msg, "'", ret_name, cap))
		return extend_to_range(text, ret_name, cap) ? put_range(ret_name, out) : -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (quoted(msg, kinds[i].before, ret_name, cap))
			return kinds[i].put(ret_name, out);
	return -ENOENT;
}

/* Replaces each whole word @name of @text by @by. False if there is none. */
static bool replace(struct buf *text, const char *name, const char *by)
{
	_cleanup_(buf_fini) struct buf out = { 0 };
	const char *p = buf_str(text), *at, *from = p;
	size_t len = strlen(name);
	bool found = false;

	while ((at = strstr(p, name))) {
		bool whole = (at == from || !is_word_char(at[-1])) && !is_word_char(at[len]);

		buf_add(&out, p, (size_t)(at - p));
		if (whole && at > p && at[-1] == '\\')	/* the escape of keywords; superfluous before a number */
			out.len--;
		buf_add_str(&out, whole ? by : name);
		found |= whole;
		p = at + len;
	}
	buf_add_str(&out, p);
	if (!found || buf_error(&out))
		return false;
	buf_fini(text);
	*text = out;
	out = (struct buf){ 0 };
	return true;
}

int pktfilter_resolve(const char *expr, uint64_t cpu_ns, struct buf *ret, struct err *err)
{
	int r = buf_add_str(ret, expr);

	for (int i = 0; r >= 0 && i < NAMES_MAX; i++) {
		_cleanup_(buf_fini) struct buf by = { 0 };
		struct pktfilter *f = NULL;
		struct err e = { 0 };
		char name[256];

		r = pktfilter_compile(buf_str(ret), cpu_ns, &f, &e);
		pktfilter_free(f);
		if (r != -ENOKEY)
			return 0;	/* complete, or another error, which the compilation reports */
		r = resolve(e.msg, buf_str(ret), name, sizeof(name), &by);
		if (r < 0 || !replace(ret, name, buf_str(&by)))
			return err_set(err, -EINVAL, "%s", e.msg);
	}
	return r < 0 ? r : err_set(err, -E2BIG, "packet filter: more than %d names", NAMES_MAX);
}
