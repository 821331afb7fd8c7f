// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libiberty does the reading; here are its bounds. A name of a few bytes can unfold to gigabytes by referring back to
 * itself, and libiberty has no limit for that and no way to stop but not to return: so output beyond the limit
 * leaves by longjmp(). The callback interface keeps its state on the stack, except for the few bytes of a Rust
 * identifier in punycode, which are lost then. Its own limit of recursion refuses names above 1024 bytes, so it is
 * off: names of the length that is allowed here take less than 1 MiB of stack (tried with each construct nested).
 *
 * Formats: Itanium C++ ABI, "Mangling"; Rust RFC 2603.
 */
#include "elf/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>


struct out {
	char *buf;
	size_t len;
	jmp_buf full;
};

static void collect(const char *text, size_t len, void *opaque)
{
	struct out *o = opaque;

	if (!len)	/* @text may be NULL then */
		return;
	if (len >= DEMANGLE_OUT_MAX - o->len)
		longjmp(o->full, 1);
	memcpy(o->buf + o->len, text, len);
	o->len += len;
}

static bool is_cxx(const char *s)
{
	return !strncmp(s, "_Z", 2) || !strncmp(s, "__Z", 3);
}

/* Legacy Rust names are C++ names that end in a hash; only the Rust side knows them from each other. */
static bool unfold(const char *mangled, struct out *o)
{
	if (setjmp(o->full))
		return false;
	if (rust_demangle_callback(mangled, 0, collect, o))
		return true;
	o->len = 0;
	return is_cxx(mangled) &&
	       cplus_demangle_v3_callback(mangled, DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT, collect, o);
}

size_t demangle(const char *raw, char buf[DEMANGLE_OUT_MAX])
{
	char mangled[DEMANGLE_IN_MAX + 1];
	size_t len = strcspn(raw, "@");
	struct out o = { .buf = buf };

	if (len > DEMANGLE_IN_MAX || (!is_cxx(raw) && strncmp(raw, "_R", 2) != 0))
		return 0;
	memcpy(mangled, raw, len);
	mangled[len] = '\0';
	if (!unfold(mangled, &o) || !o.len)
		return 0;
	buf[o.len] = '\0';
	return strlen(buf);
}

/* ---- short form ---- */

struct shortener {
	const char *in;
	char *out;
	size_t len, cap;
	bool in_operator;	/* behind "operator" blanks belong to the name */
	bool ended;		/* the parameters of the function itself have passed */
};

static void put(struct shortener *s, const char *text, size_t len)
{
	size_t room = s->cap - 1 - s->len;

	if (len > room)
		len = room;
	memcpy(s->out + s->len, text, len);
	s->len += len;
}

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c < 0;
}

static bool ends_with(const struct shortener *s, const char *word)
{
	size_t len = strlen(word);

	return s->len >= len && !memcmp(s->out + s->len - len, word, len) &&
	       (s->len == len || !is_word(s->out[s->len - len - 1]));
}

/* Length of the bracketed text that @in begins with, brackets included; all of it when it is not closed. */
static size_t bracketed(const char *in)
{
	size_t depth = 0, i;

	for (i = 0; in[i]; i++) {
		if (strchr("(<[{", in[i]))
			depth++;
		else if (strchr(")]}", in[i]) || (in[i] == '>' && in[i - 1] != '-'))
			depth--;
		if (!depth)
			return i + 1;
	}
	return i;
}

/* Behind "operator": its signs. Bytes taken. */
static size_t take_operator(struct shortener *s)
{
	size_t n = !strncmp(s->in, "()", 2) || !strncmp(s->in, "[]", 2) ? 2 : strspn(s->in, "<>=!+-*/%^&|~,");

	s->in_operator = true;
	put(s, s->in, n);
	if (n && !strncmp(s->in + n, " <", 2)) /* the blank only parts the signs from the arguments */
		n++;
	return n;
}

static size_t take_brackets(struct shortener *s)
{
	size_t n = bracketed(s->in);

	if (!strncmp(s->in, "(anonymous namespace)", 21) || (!s->len && *s->in == '<')) {
		put(s, s->in, n); /* in Rust "<Type as Trait>" stands for a name */
		return n;
	}
	if (*s->in == '(' && (!s->in[n] || s->in[n] == ' ') && s->len && !ends_with(s, "decltype"))
		s->ended = true;
	return n;
}

static size_t take_step(struct shortener *s)
{
	if (*s->in == '(' || *s->in == '<')
		return take_brackets(s);
	if (*s->in == ' ' && !s->in_operator) /* what stood before was the return type */
		s->len = 0;
	else
		put(s, s->in, 1);
	if (!strncmp(s->in, "::", 2))
		s->in_operator = false;
	return 1;
}

size_t demangle_short(const char *name, char *buf, size_t cap)
{
	struct shortener s = { .in = name, .out = buf, .cap = cap };

	if (!cap)
		return 0;
	while (*s.in && !s.ended && s.len < cap - 1) {
		size_t n = !s.in_operator && ends_with(&s, "operator") && !is_word(*s.in) ? take_operator(&s) : 0;

		s.in += n ? n : take_step(&s);
	}
	if (!s.len) /* a shape that we do not know: better long than wrong */
		put(&s, name, strlen(name));
	buf[s.len] = '\0';
	return s.len;
}
