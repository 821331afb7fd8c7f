// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Evaluates the rules against a program, each independently; a failed rule gets a sentence.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "elf/elf.h"
#include "elf/go/gopclntab.h"
#include "elf/symtab.h"
#include "gobin/job.h"
#include "gobin/site/site.h"

/* ---- functions ---- */

struct ask {
	enum go_pkg pkg;
	const char *receiver, *method;
};

static struct ask ask_of(const struct job *j, size_t i)
{
	size_t n;
	const struct hooker *h = rules_hookers(&n);
	const struct feature_function *f;

	if (i < n)
		return (struct ask){ h[i].pkg, h[i].receiver, h[i].method };
	f = rules_feature_functions(&n);
	return (struct ask){ f[i - j->n_hookers].pkg, f[i - j->n_hookers].receiver, f[i - j->n_hookers].method };
}

static void take_function(struct found_function *to, const struct gofunc *f, enum go_match m)
{
	uint32_t copies = to->name ? to->copies + 1 : 0;

	if (m > to->match)
		*to = (struct found_function){ .entry = f->entry, .end = f->end, .name = f->name, .match = m };
	to->copies = copies;
}

/* Packages present in the program: those with a function. */
static void see_package(struct job *j, const char *name, size_t len)
{
	const char *slash = memrchr(name, '/', len), *dot;

	dot = memchr(slash ? slash : name, '.', len - (size_t)((slash ? slash : name) - name));
	if (!dot)
		return;
	for (int p = 0; p < PKG__MAX; p++) {
		enum go_match m;

		if (j->packages[p] && p != PKG_STD)
			continue;
		m = gobin_names_match_package((enum go_pkg)p, name, (size_t)(dot - name));
		if (p == PKG_STD && m == GO_EXACT)
			j->features |= FEAT_STD_PACKAGE;
		if (p == PKG_STD && m == GO_BUNDLED)	/* Package net/http holds more than its bundled http2: keep
							 * only names with "http2" */
			m = memmem(dot, len - (size_t)(dot - name), "http2", 5) ? m : GO_NO;
		if (p == PKG_HPACK && !memcmp(name, "vendor/", 7))	/* PKG_STD_HPACK */
			continue;
		j->packages[p] |= m != GO_NO;
	}
}

static bool ends_like_a_method(const struct job *j, size_t n_asks, bool *ret_ends)
{
	for (size_t i = 0; i < n_asks; i++) {
		const char *method = ask_of(j, i).method;

		ret_ends[(uint8_t)method[strlen(method) - 1]] = true;
	}
	return n_asks <= FUNCTIONS_MAX;
}

void evaluate_functions(struct job *j)
{
	bool ends[256] = { false };
	size_t n_features, n_asks;
	const struct feature_function *features = rules_feature_functions(&n_features);

	(void)rules_hookers(&j->n_hookers);
	n_asks = j->n_hookers + n_features;
	if (!ends_like_a_method(j, n_asks, ends))
		return;
	for (size_t i = 0; i < gopclntab_n(j->table); i++) {
		struct gofunc f;
		size_t len;

		if (gopclntab_func(j->table, i, &f) < 0)
			continue;
		len = strlen(f.name);
		if (!len || !ends[(uint8_t)f.name[len - 1]] ||
		    (!memmem(f.name, len, ").", 2) && !memmem(f.name, len, "/grpc.", 6)))
			continue;
		see_package(j, f.name, len);
		for (size_t k = 0; k < n_asks; k++) {
			struct ask a = ask_of(j, k);
			enum go_match m = gobin_names_match_function(f.name, len, a.pkg, a.receiver, a.method);

			if (m != GO_NO)
				take_function(&j->functions[k], &f, m);
		}
	}
	for (size_t k = 0; k < n_features; k++)
		if (j->functions[j->n_hookers + k].name)
			j->features |= features[k].feature;
}

/* ---- one rule ---- */

static void refuse(struct gobin_rule_answer *r, enum gobin_state state, uint32_t why)
{
	*r = (struct gobin_rule_answer){ .state = (uint8_t)state, .why = why };
}

/* The checker: every member must be known, from sources that agree. */
static bool check_fields(struct job *j, const struct hooker *h, struct gobin_rule_answer *r)
{
	for (int i = 0; i < HOOKER_FIELDS_MAX && h->fields[i]; i++) {
		const struct gobin_field_answer *f = &j->a.fields[h->fields[i] - 1];
		const char *name = gobin_field_name((enum gobin_field)(h->fields[i] - 1));

		if (f->off >= 0)
			continue;
		if (f->by_types >= 0 && f->by_dwarf >= 0)
			refuse(r, GOBIN_CONTRADICTION,
			       answer_strf(j, "%s is at %d by its type descriptor and at %d by DWARF", name,
					   f->by_types, f->by_dwarf));
		else if (j->types_why)
			refuse(r, GOBIN_NO_FIELD,
			       answer_strf(j, "the offset of %s is not known: %s", name, j->types_why));
		else
			refuse(r, GOBIN_NO_FIELD, answer_strf(j, "%s is not in the program's types", name));
		return false;
	}
	return true;
}

static bool same_place(const struct job *j, const struct gobin_loc *l, const struct dwarf_piece *p, uint32_t within)
{
	if (l->where != p->where)
		return false;
	if (l->where == GOBIN_IN_REG)
		return abi_from_dwarf(j->a.machine, p->dwarf_reg) == l->reg;
	return l->off == p->off + (int32_t)within;
}

/* Compares one word with DWARF: false if they disagree, true if they agree or DWARF lacks it. */
static bool confirm_word(const struct job *j, const struct abi_word *w, const struct dwarf_function *f,
			 struct gobin_loc *l)
{
	const struct dwarf_arg *arg = w->arg < f->n_args ? &f->args[w->arg] : NULL;

	for (unsigned i = 0; arg && i < arg->n_pieces; i++) {
		const struct dwarf_piece *p = &arg->pieces[i];
		uint32_t within = w->off - (uint32_t)p->at;

		if (w->off < p->at || (p->size && within >= p->size) || p->where == GOBIN_NOWHERE)
			continue;
		if (!same_place(j, l, p, within))
			return false;
		l->sources |= GOBIN_BY_DWARF;
		return true;
	}
	return true;
}

static bool confirm_args(struct job *j, const struct abi_args *abi, const struct dwarf_function *f,
			 struct gobin_rule_answer *r)
{
	for (unsigned i = 0; i < MIN(abi->n_args, (unsigned)f->n_args); i++)
		if (f->args[i].size && f->args[i].size != abi->size[i]) {
			refuse(r, GOBIN_CONTRADICTION,
			       answer_strf(j, "argument %u (%s) has %u bytes by DWARF and %u by the rule", i + 1,
					   f->args[i].name, f->args[i].size, abi->size[i]));
			return false;
		}
	return true;
}

/* The words by name, in the order of the rule's row. */
static bool take_args(struct job *j, const struct hooker *h, const struct found_function *f,
		      struct gobin_rule_answer *r)
{
	/* results are not parameters */
	const struct dwarf_function *d = h->after ? NULL : dwarf_function_at(&j->dwarf, f->entry);
	struct abi_args abi;

	if (abi_assign(j->a.machine, j->a.abi, h->signature, &abi) < 0) {
		refuse(r, GOBIN_NO_ABI, answer_str(j, "how this release passes arguments is not known"));
		return false;
	}
	if (d && !confirm_args(j, &abi, d, r))
		return false;
	for (const char *p = h->args; *p && r->site.n_args < GOBIN_ARGS_MAX;) {
		unsigned len = (unsigned)strcspn(p, " ");
		const struct abi_word *w = abi_word(&abi, p, len);
		struct gobin_loc *l = &r->site.args[r->site.n_args++];

		*l = w ? w->loc : (struct gobin_loc){ 0 };
		l->name = answer_strf(j, "%.*s", (int)len, p);
		if (w && d && !confirm_word(j, w, d, l)) {
			refuse(r, GOBIN_CONTRADICTION,
			       answer_strf(j, "DWARF has %.*s of %s elsewhere than the rules of argument passing",
					   (int)len, p, f->name));
			return false;
		}
		p += len;
		p += *p == ' ';
	}
	return true;
}

static bool choose_site(struct job *j, const struct found_function *f, struct gobin_rule_answer *r)
{
	uint8_t code[SITE_BYTES] = { 0 };
	struct gobin_site *s = &r->site;
	uint64_t off, left = f->end - f->entry;
	size_t len = (size_t)MIN(left, (uint64_t)sizeof(code));
	struct site p;

	if (elf_vaddr_to_off(j->elf, f->entry, &off) < 0 || !image_read(&j->img, f->entry, code, len) ||
	    site_choose(j->a.machine, code, len, &p) < 0 || p.off + p.len > len) {
		refuse(r, GOBIN_NO_SITE, answer_strf(j, "the bytes at %s are no begin of a function", f->name));
		return false;
	}
	s->function = f->entry;
	s->addr = f->entry + p.off;
	s->file_off = off + p.off;
	s->kind = (uint8_t)p.kind;
	s->insn_len = MIN(p.len, (uint8_t)GOBIN_INSN_MAX);
	memcpy(s->insn, code + p.off, s->insn_len);
	return true;
}

/* The function whose call @h is behind; 0 = not in the program. */
static uint64_t callee_of(const struct job *j, const struct hooker *h)
{
	size_t n, n_features;
	const struct hooker *all = rules_hookers(&n);
	const struct feature_function *f = rules_feature_functions(&n_features);

	for (size_t i = 0; h->after == AFTER_FAILED_CALL && i < n; i++)
		if (all[i].rule == GOBIN_GRPC_CALL && j->functions[i].name)
			return j->functions[i].entry;
	for (size_t i = 0; h->after == AFTER_FIELDS && i < n_features; i++)
		if (f[i].feature == FEAT_CLIENT_FIELDS && j->functions[n + i].name)
			return j->functions[n + i].entry;
	return 0;
}

#define AFTER_BYTES 4096	/* of a function that calls it */

static bool choose_after(struct job *j, const struct hooker *h, const struct found_function *f,
			 struct gobin_rule_answer *r)
{
	uint8_t code[AFTER_BYTES];
	uint64_t callee = callee_of(j, h), off;
	size_t len = (size_t)MIN(f->end - f->entry, (uint64_t)sizeof(code));
	struct gobin_site *s = &r->site;
	struct site p;

	if (!callee || j->a.abi != GOBIN_ABI_REGS || elf_vaddr_to_off(j->elf, f->entry, &off) < 0 ||
	    !image_read(&j->img, f->entry, code, len) ||
	    (h->after == AFTER_FIELDS ? site_after_slice : site_after_call)(j->a.machine, code, len, f->entry, callee,
									    &p) < 0) {
		refuse(r, GOBIN_NO_SITE, answer_strf(j, "no place in %s is known to follow the call", f->name));
		return false;
	}
	s->function = f->entry;
	s->addr = f->entry + p.off;
	s->file_off = off + p.off;
	s->kind = (uint8_t)p.kind;
	s->insn_len = p.len;
	memcpy(s->insn, code + p.off, s->insn_len);
	return true;
}

#define RETURNING_BYTES 16384	/* of a function whose return instructions count */

static bool choose_returns(struct job *j, const struct found_function *f, struct gobin_rule_answer *r)
{
	struct gobin_site *s = &r->site;
	struct site_returns all = {
		.machine = j->a.machine, .entry = f->entry, .len = (size_t)(f->end - f->entry),
		.check = { .kind = s->kind, .off = (uint32_t)(s->addr - f->entry), .len = s->insn_len },
	};
	_cleanup_free_ uint8_t *code = NULL;
	struct gofunc at;

	if (all.len <= RETURNING_BYTES)
		code = malloc(all.len);
	all.code = code;
	if (j->a.abi != GOBIN_ABI_REGS || !code || !image_read(&j->img, f->entry, code, all.len) ||
	    gopclntab_find_pc(j->table, f->entry, &at) < 0 ||
	    gopclntab_sp(j->table, &at, site_returns_part, &all) < 0 || !all.n) {
		refuse(r, GOBIN_NO_SITE, answer_strf(j, "where %s returns is not known", f->name));
		return false;
	}
	s->n_returns = all.n;
	memcpy(s->returns, all.off, sizeof(s->returns));
	return true;
}

static void hook(struct job *j, const struct hooker *h, uint8_t number, const struct found_function *f,
		 struct gobin_rule_answer *r)
{
	*r = (struct gobin_rule_answer){ .state = GOBIN_READY, .hooker = number };
	if (!check_fields(j, h, r) || !(h->after ? choose_after(j, h, f, r) : choose_site(j, f, r)) ||
	    (h->returns && !choose_returns(j, f, r)) || !take_args(j, h, f, r))
		return;
	r->site.symbol = answer_str(j, f->name);
	r->site.sources = GOBIN_BY_PCLNTAB;
}

/* ---- all rules ---- */

static void evaluate(struct job *j, enum gobin_rule rule)
{
	struct gobin_rule_answer *r = &j->a.rules[rule];
	const struct hooker *h = rules_hookers(&(size_t){ 0 }), *missing = NULL;
	uint8_t number = 0;

	for (size_t i = 0; i < j->n_hookers; i++) {
		if (h[i].rule != rule)
			continue;
		missing = &h[i];
		if ((j->features & h[i].wants) == h[i].wants && !(j->features & h[i].excludes)) {
			if (j->functions[i].name) {
				hook(j, &h[i], number, &j->functions[i], r);
				return;
			}
			break;
		}
		number++;
	}
	if (!missing || !j->packages[missing->pkg])
		refuse(r, GOBIN_NO_PACKAGE,
		       missing ? answer_strf(j, "nothing of %s is in the program",
					     gobin_names_package_path(missing->pkg))
			       : 0);
	else if (missing->wants & FEAT_OWN_WRITER && !(j->features & FEAT_OWN_WRITER))
		refuse(r, GOBIN_OTHER_WAY, answer_str(j, "this gRPC writes DATA through golang.org/x/net/http2"));
	else
		refuse(r, GOBIN_NO_FUNCTION,
		       answer_strf(j, "the program has no function %s.(*%s).%s",
				   gobin_names_package_path(missing->pkg), missing->receiver, missing->method));
}

/* Functions of ready rules, ascending, unique. */
static size_t ready_functions(const struct job *j, uint64_t *ret)
{
	size_t n = 0;

	for (int i = 0; i < GOBIN_RULE__MAX; i++) {
		uint64_t addr = j->a.rules[i].site.function;
		size_t at = 0;

		if (j->a.rules[i].state != GOBIN_READY)
			continue;
		while (at < n && ret[at] < addr)
			at++;
		if (at < n && ret[at] == addr)
			continue;
		memmove(&ret[at + 1], &ret[at], (n - at) * sizeof(*ret));
		ret[at] = addr;
		n++;
	}
	return n;
}

static void confirm_symbol(struct job *j, const struct symtab_hit *hit)
{
	for (int i = 0; i < GOBIN_RULE__MAX; i++) {
		struct gobin_site *s = &j->a.rules[i].site;

		if (j->a.rules[i].state == GOBIN_READY && hit->name && hit->start == s->function &&
		    !strcmp(hit->name, j->strings.data + s->symbol))
			s->sources |= GOBIN_BY_SYMTAB;
	}
}

/* Whether the symbol table, if present, has the same functions at the same addresses. */
static int confirm_symbols(struct job *j)
{
	struct symtab_hit hits[GOBIN_RULE__MAX] = { 0 };
	uint64_t addrs[GOBIN_RULE__MAX + 1];
	size_t n = ready_functions(j, addrs);
	struct symtab *t;
	int r = symtab_new(j->elf, 0, &t);

	if (r < 0)
		return r;
	r = n ? symtab_lookup(t, addrs, n, hits) : 0;
	for (size_t i = 0; i < n; i++) {
		if (r >= 0 && !j->strings.error)
			confirm_symbol(j, &hits[i]);
		free(hits[i].name);
	}
	symtab_free(t);
	return r == -ENOMEM ? r : 0;
}

int evaluate_rules(struct job *j)
{
	if (j->a.fields[GOBIN_F_SERVER_PEER].off >= 0)
		j->features |= FEAT_CONTEXT;
	for (int i = 0; i < GOBIN_RULE__MAX; i++)
		evaluate(j, (enum gobin_rule)i);
	return j->a.has_symtab ? confirm_symbols(j) : 0;
}
