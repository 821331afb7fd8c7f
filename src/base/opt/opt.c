// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parsing of option rows. Behaves like getopt_long (clusters, permutation, "--") without abbreviations: a name that
 * works today must not become ambiguous in the next release.
 */
#include "base/opt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

/* One option as met on the command line. */
struct hit {
	const struct opt *opt;
	void *conf;
	bool negated;	/* --no-NAME */
};

struct parser {
	const struct opt_set *sets;
	size_t n_sets;
	int argc, next;	/* next: first unread argument */
	char **argv;
	struct err *err;
};

/* "--count", or "-n" for an option without a long name. */
static const char *shown(const struct opt *o, char buf[static 72])
{
	if (o->name)
		snprintf(buf, 72, "--%s", o->name);
	else
		snprintf(buf, 72, "-%c", o->key);
	return buf;
}

const struct opt *opt_named(const struct opt *rows, const char *name, size_t len)
{
	for (const struct opt *o = rows; opt_is_row(o); o++)
		if (o->name && strlen(o->name) == len && !memcmp(o->name, name, len))
			return o;
	return NULL;
}

static bool find_long(const struct parser *p, const char *name, size_t len, struct hit *ret)
{
	for (size_t i = 0; i < p->n_sets; i++) {
		const struct opt *o = opt_named(p->sets[i].opts, name, len);

		if (!o)
			continue;
		*ret = (struct hit){ .opt = o, .conf = p->sets[i].conf };
		return true;
	}
	return false;
}

static bool find_short(const struct parser *p, char key, struct hit *ret)
{
	for (size_t i = 0; i < p->n_sets; i++) {
		for (const struct opt *o = p->sets[i].opts; opt_is_row(o); o++) {
			if (o->key != key)
				continue;
			*ret = (struct hit){ .opt = o, .conf = p->sets[i].conf };
			return true;
		}
	}
	return false;
}

/* The long name nearest to @name, or NULL. */
static const char *suggest(const struct parser *p, const char *name)
{
	struct str_near near = { .word = name };

	for (size_t i = 0; i < p->n_sets; i++)
		for (const struct opt *o = p->sets[i].opts; opt_is_row(o); o++)
			if (o->name)
				str_near_offer(&near, o->name);
	return near.best;
}

static const char *hint_of(const struct parser *p, const char *arg)
{
	struct hit h;

	for (size_t i = 0; i < p->n_sets; i++)
		for (const struct opt_hint *x = p->sets[i].hints; x && x->option; x++) {
			const size_t len = strlen(x->option);
			const bool is_it = len > 2 ? !strncmp(arg, x->option, len) : !strcmp(arg, x->option);

			if (is_it && find_long(p, x->needs, strlen(x->needs), &h))
				return x->text;
		}
	return NULL;
}

static int unknown(const struct parser *p, const char *arg, const char *name, size_t len)
{
	const char *hint = hint_of(p, arg);
	char word[72];
	const char *near = NULL;

	if (str_copy(word, sizeof(word), name, len))
		near = suggest(p, word);
	if (hint)
		return err_set(p->err, -EINVAL, "unknown option %s; %s", arg, hint);
	if (near)
		return err_set(p->err, -EINVAL, "unknown option %s; did you mean --%s?", arg, near);
	return err_set(p->err, -EINVAL, "unknown option %s", arg);
}

static int bad_value(const struct parser *p, const struct opt *o, int code, const char *want, const char *arg)
{
	char name[72];

	if (code == -ERANGE)
		return err_set(p->err, -EINVAL, "%s: %s is too large", shown(o, name), arg);
	return err_set(p->err, -EINVAL, "%s \"%s\": expected %s", shown(o, name), arg, want);
}

int opt_ignore(_unused_ void *conf, _unused_ const char *arg, _unused_ struct err *err)
{
	return 0;
}

static int number_base(const char *s)
{
	return s[0] == '0' && (s[1] == 'x' || s[1] == 'X') ? 16 : 10;
}

/* "1,2,3": all or none of it is added. */
static int add_u32_list(struct opt_u32v *v, const char *arg)
{
	_cleanup_free_ char *copy = strdup(arg);
	size_t len = v->len;
	char *rest = copy, *word;
	int r = copy ? 0 : -ENOMEM;

	while (r == 0 && (word = strsep(&rest, ","))) {
		r = vec_grow(v);
		if (r == 0)
			r = str_to_u32(word, number_base(word), &v->items[v->len]);
		if (r == 0)
			v->len++;
	}
	if (r < 0)
		v->len = len;
	return r;
}

static int set_enum(const struct parser *p, const struct opt *o, unsigned *value, const char *arg)
{
	const char *const *names = o->names;
	_cleanup_(buf_fini) struct buf list = { 0 };

	for (unsigned i = 0; names[i]; i++) {
		if (!strcmp(names[i], arg)) {
			*value = i;
			return 0;
		}
		buf_printf(&list, "%s%s", i ? ", " : "one of ", names[i]);
	}
	return bad_value(p, o, -EINVAL, buf_str(&list), arg);
}

int opt_refuse(const struct opt *o, struct err *err)
{
	char name[72];

	if (o->name && o->key)
		return err_set(err, -EINVAL, "-%c (--%s) is not supported: %s", o->key, o->name, o->refused);
	return err_set(err, -EINVAL, "%s is not supported: %s", shown(o, name), o->refused);
}

/* Stores @arg (NULL if the option takes none) in the row's member. */
static int store(const struct parser *p, const struct hit *h, const char *arg)
{
	const struct opt *o = h->opt;
	void *at = (char *)h->conf + o->off;
	const char *want = NULL;
	int r = 0;

	if (o->refused)
		return opt_refuse(o, p->err);
	switch (o->kind) {
	case OPT_BOOL:
		*(bool *)at = !h->negated;
		return 0;
	case OPT_COUNT:
		++*(unsigned *)at;
		return 0;
	case OPT_U32:
		r = str_to_u32(arg, number_base(arg), at);
		want = "a number";
		break;
	case OPT_U64:
		r = str_to_u64(arg, number_base(arg), at);
		want = o->not_zero ? "a number above 0" : "a number";
		break;
	case OPT_STR:
		*(const char **)at = arg;
		return 0;
	case OPT_MAYBE:
		*(const char **)at = arg ? arg : "";
		return 0;
	case OPT_STRV:
		r = vec_push((struct opt_strv *)at, arg);
		break;
	case OPT_U32V:
		r = add_u32_list(at, arg);
		want = "numbers separated by commas";
		break;
	case OPT_DURATION:
		r = str_to_duration_ns(arg, at);
		want = o->not_zero && !r ? "a time above 0, such as 10ms, 2s or 5m" : "a time such as 10ms, 2s or 5m";
		break;
	case OPT_BYTES:
		r = str_to_bytes(arg, at);
		want = "a size such as 4096, 64k or 8M";
		break;
	case OPT_ENUM:
		return set_enum(p, o, at, arg);
	case OPT_CALL: return o->call(at, arg, p->err);
	case OPT__MAX:
		break;
	}
	if (r == -ENOMEM)
		return err_set(p->err, r, "no memory for the options");
	if (r >= 0 && o->not_zero && !*(const uint64_t *)at)
		r = -EINVAL;
	return r < 0 ? bad_value(p, o, r, want, arg) : 0;
}

/* Whether the next argument is not the value of a row with `loose`. */
static bool lacks_value(const struct opt *o, int next, int argc, char **argv)
{
	return o->loose && (next >= argc || argv[next][0] == '-');
}

/* The value in the next argument. "--" is refused: it was meant to end the options. */
static int next_value(struct parser *p, const struct opt *o, const char **ret)
{
	char name[72];

	*ret = NULL;
	if (lacks_value(o, p->next, p->argc, p->argv))
		return 0;
	if (p->next >= p->argc || !strcmp(p->argv[p->next], "--"))
		return err_set(p->err, -EINVAL, "%s needs a value (%s)", shown(o, name), o->arg);
	*ret = p->argv[p->next++];
	return 0;
}

static int parse_long(struct parser *p, const char *arg)
{
	const char *name = arg + 2, *value = strchr(name, '=');
	size_t len = value ? (size_t)(value - name) : strlen(name);
	struct hit h;
	int r;

	if (!find_long(p, name, len, &h)) {
		if (len < 4 || strncmp(name, "no-", 3) || !find_long(p, name + 3, len - 3, &h) ||
		    h.opt->kind != OPT_BOOL)
			return unknown(p, arg, name, len);
		h.negated = true;
	}
	if (!opt_takes_value(h.opt)) {
		if (value && h.opt->kind != OPT_MAYBE && !h.opt->optional)
			return err_set(p->err, -EINVAL, "--%.*s takes no value", (int)len, name);
		return store(p, &h, value ? value + 1 : NULL);
	}
	if (value)
		return store(p, &h, value + 1);
	r = next_value(p, h.opt, &value);
	return r < 0 ? r : store(p, &h, value);
}

/* "-abc", "-n5", "-vn 5" */
static int parse_cluster(struct parser *p, const char *arg)
{
	if (arg[2] && hint_of(p, arg))
		return unknown(p, arg, "", 0);
	for (const char *c = arg + 1; *c; c++) {
		const char *value = c + 1;
		struct hit h;
		int r;

		if (!find_short(p, *c, &h)) {
			const char letter[] = { '-', *c, '\0' };

			/* "-count" was meant to be "--count". */
			if (find_long(p, arg + 1, strcspn(arg + 1, "="), &h))
				return unknown(p, arg, arg + 1, strcspn(arg + 1, "="));
			return unknown(p, letter, "", 0);
		}
		if (!opt_takes_value(h.opt)) {
			r = store(p, &h, NULL);
			if (r < 0)
				return r;
			continue;
		}
		r = *value ? 0 : next_value(p, h.opt, &value);
		return r < 0 ? r : store(p, &h, value);
	}
	return 0;
}

static int parse_one(struct parser *p, const char *arg, struct opt_strv *words)
{
	int r;

	if (arg[0] == '-' && arg[1] == '-')
		return parse_long(p, arg);
	if (arg[0] == '-' && arg[1])
		return parse_cluster(p, arg);
	r = vec_push(words, arg);
	return r < 0 ? err_set(p->err, r, "no memory for the options") : 0;
}

int opt_parse(const struct opt_set *sets, size_t n_sets, int argc, char **argv, struct opt_strv *ret_words,
	      struct opt_strv *ret_command, struct err *err)
{
	struct parser p = { .sets = sets, .n_sets = n_sets, .argc = argc, .next = 1, .argv = argv, .err = err };
	struct opt_strv *rest = ret_command ? ret_command : ret_words;
	int r = 0;

	while (r == 0 && p.next < argc) {
		const char *arg = argv[p.next++];

		if (!strcmp(arg, "--"))
			break;
		r = parse_one(&p, arg, ret_words);
	}
	while (r == 0 && p.next < argc) {
		r = vec_push(rest, argv[p.next++]);
		if (r < 0)
			err_set(err, r, "no memory for the options");
	}
	return r;
}

/* The arguments that option @at takes with its value: 1 or 2; 0 = not in the sets. */
static int option_args(const struct parser *p, int at)
{
	const char *arg = p->argv[at];
	struct hit h;

	if (arg[1] == '-') {
		size_t len = strcspn(arg + 2, "=");

		if (find_long(p, arg + 2, len, &h))
			return opt_takes_value(h.opt) && !arg[2 + len] &&
					       !lacks_value(h.opt, at + 1, p->argc, p->argv)
				       ? 2
				       : 1;
		return !strncmp(arg + 2, "no-", 3) && find_long(p, arg + 5, strlen(arg + 5), &h) ? 1 : 0;
	}
	for (const char *c = arg + 1; *c; c++) {
		if (!find_short(p, *c, &h))
			return 0;
		if (opt_takes_value(h.opt))
			return c[1] || lacks_value(h.opt, at + 1, p->argc, p->argv) ? 1 : 2;
	}
	return 1;
}

int opt_leading(const struct opt_set *sets, size_t n_sets, int argc, char **argv)
{
	const struct parser p = { .sets = sets, .n_sets = n_sets, .argc = argc, .argv = argv };
	int n = 0;

	while (n + 1 < argc && argv[n + 1][0] == '-' && argv[n + 1][1] && strcmp(argv[n + 1], "--") != 0) {
		int args = option_args(&p, n + 1);

		if (!args)
			break;
		n += args;
	}
	return n < argc ? n : argc - 1;
}

void opt_strv_fini(struct opt_strv *v)
{
	vec_fini(v);
}

void opt_fini(const struct opt_set *sets, size_t n_sets)
{
	for (size_t i = 0; i < n_sets; i++) {
		for (const struct opt *o = sets[i].opts; sets[i].conf && opt_is_row(o); o++) {
			void *at = (char *)sets[i].conf + o->off;

			if (o->kind == OPT_STRV)
				vec_fini((struct opt_strv *)at);
			else if (o->kind == OPT_U32V)
				vec_fini((struct opt_u32v *)at);
		}
	}
}
