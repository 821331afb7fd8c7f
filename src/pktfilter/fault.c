// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Locates the error in an expression, since libpcap does not report positions: a word that its message quotes is
 * searched in the text; for a bare "syntax error", the first word after which no continuation compiles.
 */
#include "pktfilter/pktfilter_filter.h"

#include <ctype.h>
#include <linux/filter.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/macros.h"

/* Continuations of a correct beginning: one of each kind that the grammar may expect. */
static const char *const continuations[] = {
	"", "ip", "1", "1.2.3.4", "80", "host 1.2.3.4", "port 80", "= 0", "1 = 0", "0] = 0", "] = 0", "1-2",
	"0:0:0:0:0:1", "and ip", "::1", "tcp", "proto 6", "net 10", "mask 255.0.0.0",
};

static size_t word_end(const char *expr, size_t off)
{
	size_t end = off;

	if (!isalnum((unsigned char)expr[off]))
		return off + 1;
	while (isalnum((unsigned char)expr[end]) || (expr[end] && strchr("._-:", expr[end])))
		end++;
	return end;
}

static size_t skip_space(const char *expr, size_t off)
{
	while (isspace((unsigned char)expr[off]))
		off++;
	return off;
}

static bool compiles(const char *text)
{
	_cleanup_free_ struct sock_filter *insns = NULL;
	char why[256];
	size_t n;

	/* other errors come after parsing */
	return libpcap_compile(text, START_ETHERNET, &insns, &n, why, sizeof(why)) == 0 ||
	       !strstr(why, "syntax error");
}

/* True if the first @len bytes can be continued to a correct expression. */
static bool can_continue(const char *expr, size_t len)
{
	int open = 0;

	for (size_t i = 0; i < len; i++)
		open += expr[i] == '(' ? 1 : expr[i] == ')' ? -1 : 0;
	if (open < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(continuations); i++) {
		for (int inner = 0; inner <= 1; inner++) {
			_cleanup_free_ char *text = NULL;
			_cleanup_free_ char *close = calloc((size_t)open + 1, 1);

			if (!close)
				return false;
			memset(close, ')', (size_t)open);
			/* a parenthesis may hold arithmetic or a primitive */
			if (asprintf(&text, "%.*s %s%s%s", (int)len, expr, continuations[i], close,
				     inner ? " = 0" : "") < 0)
				return false;
			if (compiles(text))
				return true;
		}
	}
	return false;
}

static bool find_quoted(const char *expr, const char *why, size_t *ret_off, size_t *ret_len)
{
	const char *from = strpbrk(why, "'\""), *to, *at;

	if (!from)
		return false;
	to = strchr(from + 1, *from);
	if (!to || to == from + 1)
		return false;
	_cleanup_free_ char *word = strndup(from + 1, (size_t)(to - from - 1));

	at = word ? strstr(expr, word) : NULL;
	if (!at)
		return false;
	*ret_off = (size_t)(at - expr);
	*ret_len = strlen(word);
	return true;
}

/* Finds a number or word of the message in the expression. */
static bool find_number(const char *expr, const char *why, size_t *ret_off, size_t *ret_len)
{
	for (size_t i = 0; why[i]; i = word_end(why, skip_space(why, i))) {
		size_t off = skip_space(why, i), len;
		_cleanup_free_ char *word = NULL;
		const char *at;

		if (!isdigit((unsigned char)why[off]))
			continue;
		len = word_end(why, off) - off;
		word = strndup(why + off, len);
		at = word && len > 2 ? strstr(expr, word) : NULL;
		if (at) {
			*ret_off = (size_t)(at - expr);
			*ret_len = len;
			return true;
		}
	}
	return false;
}

/* Each trial may resolve the names again: limits the delay by a slow name server. */
static bool is_late(uint64_t started_ns)
{
	return clock_boot_ns() - started_ns > 2000000000;
}

static void find_syntax(const char *expr, size_t *ret_off, size_t *ret_len)
{
	uint64_t started_ns = clock_boot_ns();

	for (size_t off = skip_space(expr, 0); expr[off]; off = skip_space(expr, word_end(expr, off))) {
		size_t end = word_end(expr, off);

		if (is_late(started_ns)) {
			*ret_off = 0;
			*ret_len = strlen(expr);
			return;
		}
		if (!can_continue(expr, end)) {
			*ret_off = off;
			*ret_len = end - off;
			return;
		}
	}
	*ret_off = strlen(expr);	/* correct but incomplete */
	*ret_len = 1;
}

/* The first word at which the beginning fails with @why. */
static void find_meaning(const char *expr, const char *why, size_t *ret_off, size_t *ret_len)
{
	uint64_t started_ns = clock_boot_ns();

	for (size_t off = skip_space(expr, 0); expr[off] && !is_late(started_ns);
	     off = skip_space(expr, word_end(expr, off))) {
		size_t end = word_end(expr, off), n;
		_cleanup_free_ char *text = strndup(expr, end);
		_cleanup_free_ struct sock_filter *insns = NULL;
		char said[256] = "";

		if (text && libpcap_compile(text, START_ETHERNET, &insns, &n, said, sizeof(said)) < 0 &&
		    !strcmp(said, why)) {
			*ret_off = off;
			*ret_len = end - off;
			return;
		}
	}
	*ret_off = 0;
	*ret_len = strlen(expr);
}

void pktfilter_filter_find_fault(const char *expr, const char *why, size_t *ret_off, size_t *ret_len)
{
	if (strstr(why, "syntax error"))
		find_syntax(expr, ret_off, ret_len);
	else if (!find_quoted(expr, why, ret_off, ret_len) && !find_number(expr, why, ret_off, ret_len))
		find_meaning(expr, why, ret_off, ret_len);
	if (*ret_len == 0)
		*ret_len = 1;
}
