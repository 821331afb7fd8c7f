/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command-line options as rows. One table serves parsing, --help, man pages and shell completion,
 * so they cannot drift apart.
 *
 * A command has several sets (its own, the common ones, its probe's, its output's); each set fills a
 * configuration struct of its own by offset. Options may stand after words; "--" ends them.
 */
#ifndef BASE_OPT_H
#define BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

struct buf;
struct err;

enum opt_kind {
	OPT_BOOL,     /* bool; no argument; --no-NAME turns it off */
	OPT_COUNT,    /* unsigned; no argument, may repeat (-vv) */
	OPT_U32,      /* uint32_t */
	OPT_U64,      /* uint64_t */
	OPT_STR,      /* const char *; points into argv */
	OPT_MAYBE,    /* const char *; the value is optional and only behind "=": "" without */
	OPT_STRV,     /* struct opt_strv; may repeat */
	OPT_U32V,     /* struct opt_u32v; may repeat, comma separated */
	OPT_DURATION, /* uint64_t ns: 10ms, 2s, 5m */
	OPT_BYTES,    /* uint64_t: 64k, 8M */
	OPT_ENUM,     /* unsigned; .names, NULL-terminated */
	OPT_CALL,     /* no member: .call takes the value */
	OPT__MAX,
};

struct opt_strv { const char **items; size_t len, cap; };
struct opt_u32v { uint32_t *items; size_t len, cap; };

/*
 * The resource that a value takes, for a program that accepts options from others and bounds them. Every numeric row
 * of a probe names one (tests/unit/agent/test_limits.c).
 */
enum opt_use {
	OPT_USE_UNSAID,
	OPT_USE_NONE,		/* a choice, a threshold, an id */
	OPT_USE_HZ,		/* samples per second and CPU */
	OPT_USE_PERIOD,		/* events between two samples, of which a CPU has at most `unit` per second */
	OPT_USE_BYTES,		/* bytes of one event: the value times `unit` */
	OPT_USE_MEMORY,		/* bytes of kernel memory: the value times `unit` */
	OPT_USE_INTERVAL,	/* ns between two reports */
	OPT_USE__MAX,
};

struct opt {
	const char *name;	/* long name without dashes */
	char key;		/* short letter, 0 = none */
	enum opt_kind kind;
	size_t off;		/* of the member in the set's struct; of OPT_CALL: of what .call gets */
	const char *arg;	/* placeholder in help ("FILE"); NULL where no argument is taken */
	const char *help;	/* one sentence, lower case, no full stop */
	const char *more;	/* further sentences for --help all and the man page; may be NULL */
	const char *const *names;				   /* of OPT_ENUM */
	int (*call)(void *conf, const char *arg, struct err *err); /* of OPT_CALL; @arg: NULL without a value */
	bool optional;		/* of OPT_CALL: the value is optional and only behind "=", as of OPT_MAYBE */
	bool loose;		/* of OPT_CALL: the value may be missing before another option and at the end */
	bool not_zero;		/* of OPT_U64 and OPT_DURATION: 0 is an error */

	/* Rows of another tool's options (src/compat). Neither: the option is the tool's. */
	const char *differs;	/* how the option differs from the tool's */
	const char *refused;	/* the option is an error; the native way */

	enum opt_use use;
	uint64_t unit;		/* see enum opt_use; 0 = 1 */
	bool per_cpu;		/* per CPU */
	uint16_t with, with_size; /* member without which the value takes nothing; with_size 0 = none */
	uint64_t zero_is;	/* the value that 0 means */
};

#define OPT_USE_WITH(s, m) .with = offsetof(struct s, m), .with_size = sizeof(((struct s *)0)->m)

/* The kinds that may fill a member of @m's type, as bits. */
#define OPT_KINDS_OF(m) \
	_Generic((m), bool : 1u << OPT_BOOL, uint32_t : 1u << OPT_COUNT | 1u << OPT_U32 | 1u << OPT_ENUM, \
		 uint64_t : 1u << OPT_U64 | 1u << OPT_DURATION | 1u << OPT_BYTES, \
		 const char * : 1u << OPT_STR | 1u << OPT_MAYBE, struct opt_strv : 1u << OPT_STRV, \
		 struct opt_u32v : 1u << OPT_U32V, default : 0u)

/* 0; does not compile where @kind cannot fill a member of @m's type. */
#define OPT_CHECK(m, kind) (sizeof(char[OPT_KINDS_OF(m) >> (kind)&1u ? 1 : -1]) - 1)

/* A row for member @m of struct @s; further members may follow. */
#define OPT_ROW(s, m, name_, key_, kind_, arg_, help_, ...) \
	{ \
		.name = (name_), .key = (key_), .kind = (kind_), \
		.off = offsetof(struct s, m) + OPT_CHECK(((struct s *)0)->m, kind_), .arg = (arg_), .help = (help_), \
		##__VA_ARGS__ \
	}
/* Declares @fn, of OPT_PARSE_ROW(): @ret is a @type. */
#define OPT_PARSER(fn, type) int fn(void *ret, const char *arg, struct err *err); typedef type fn##_ret
/* 0; does not compile where @fn's value is not of @m's type. */
#define OPT_CHECK_PARSER(m, fn) (sizeof(char[__builtin_types_compatible_p(__typeof__(m), fn##_ret) ? 1 : -1]) - 1)
/* A row whose value function @fn turns into member @m, which it gets in place of the configuration. */
#define OPT_PARSE_ROW(s, m, fn, name_, key_, arg_, help_, ...) \
	{ \
		.name = (name_), .key = (key_), .kind = OPT_CALL, .arg = (arg_), .help = (help_), .call = (fn), \
		.off = offsetof(struct s, m) + OPT_CHECK_PARSER(((struct s *)0)->m, fn), ##__VA_ARGS__ \
	}
/* For options of another tool whose effect is given anyway. */
int opt_ignore(void *conf, const char *arg, struct err *err);
/* A row whose value goes to function @fn, defined by OPT_CALL(). */
#define OPT_CALL(fn) static int fn(_unused_ void *conf, _unused_ const char *arg, _unused_ struct err *err)
#define OPT_CALL_ROW(fn, name_, key_, arg_, help_, ...) \
	{ \
		.name = (name_), .key = (key_), .kind = OPT_CALL, .arg = (arg_), .help = (help_), .call = (fn), \
		##__VA_ARGS__ \
	}
/* An option of another tool that is an error; @way_: the native way, after "is not supported: ". */
#define OPT_REFUSED_ROW(name_, key_, arg_, way_, ...) \
	{ \
		.name = (name_), .key = (key_), .kind = OPT_CALL, .arg = (arg_), .help = (way_), .refused = (way_), \
		##__VA_ARGS__ \
	}
#define OPT_END { .name = NULL }

static inline bool opt_is_row(const struct opt *o)
{
	return o->name || o->key;
}

/* Whether its value may be the next argument. */
static inline bool opt_takes_value(const struct opt *o)
{
	if (o->kind == OPT_CALL)
		return o->arg && !o->optional;
	return o->kind != OPT_BOOL && o->kind != OPT_COUNT && o->kind != OPT_MAYBE;
}

/* Another tool's option, and the sentence that an unknown one gets: what to write here. */
struct opt_hint {
	const char *option;	/* "-c"; one of more letters ("-nn") is also known at the start of a longer word */
	const char *needs;	/* long name of a row: only commands that have it use the hint */
	const char *text;
};

struct opt_set {
	const char *title;	/* heading in help, "Output"; NULL: continues the set before */
	const struct opt *opts;	/* up to OPT_END */
	void *conf;		/* what the offsets point into; NULL for help only */
	bool global;		/* options of the program: listed once, not by each command */
	const struct opt_hint *hints;	/* up to a row without option; NULL = none */
};

/* How much of the rows opt_help() and opt_man() print. */
enum opt_detail { OPT_SHORT, OPT_ALL, OPT_DETAIL__MAX };

/*
 * Parses argv[1..]. Words other than options, "-" included, go to *ret_words in order, as pointers into argv.
 * Arguments after "--" go to *ret_command; with @ret_command NULL also to *ret_words. A value is "--name=value",
 * "--name value", "-nvalue" or "-n value". Names cannot be abbreviated. The last value of a repeated option counts.
 *
 * -EINVAL with one sentence in @err, which has the hint or suggests a similar name; or the error of an OPT_CALL. The
 * lists may be partly filled after an error: release them in any case.
 */
int opt_parse(const struct opt_set *sets, size_t n_sets, int argc, char **argv, struct opt_strv *ret_words,
	      struct opt_strv *ret_command, struct err *err);

/* The error of a row with `refused`: its names, then the native way. -EINVAL. */
int opt_refuse(const struct opt *o, struct err *err);

/* The row of the long name @name, @len bytes, up to OPT_END; NULL if there is none. */
const struct opt *opt_named(const struct opt *rows, const char *name, size_t len);

/*
 * The reverse: every difference from @base, as words that opt_parse() takes ("--name=value"), each with its NUL, in
 * the order of the rows. @base has the layout of all the sets' conf and empty lists; NULL: all zeros. 0, -ENOMEM, or
 * -ENOTSUP for a row that is a function and for a text or count of @base that no word resets.
 */
int opt_words(const struct opt_set *sets, size_t n_sets, const void *base, struct buf *out);

/* Releases what OPT_STRV and OPT_U32V members hold. */
void opt_fini(const struct opt_set *sets, size_t n_sets);
void opt_strv_fini(struct opt_strv *v);

/*
 * Whether the rows are sound: names and letters unique over all sets, values and placeholders as the kind
 * asks, help without a full stop. 0, or -EINVAL with the row in @err. For a test of every command.
 */
int opt_check(const struct opt_set *sets, size_t n_sets, struct err *err);

/*
 * How many of argv[1..] are options of @sets, with their values, up to the first word. Stores nothing.
 */
int opt_leading(const struct opt_set *sets, size_t n_sets, int argc, char **argv);

/* The option part of --help, wrapped at 80 columns; @detail OPT_ALL adds `more`. Global sets are left out. */
int opt_help(const struct opt_set *sets, size_t n_sets, enum opt_detail detail, struct buf *out);

/* The same rows with `more` as roff for a man page: .SS per title, .TP per option. */
int opt_man(const struct opt_set *sets, size_t n_sets, struct buf *out);

enum opt_shell { OPT_SHELL_BASH, OPT_SHELL_ZSH, OPT_SHELL_FISH, OPT_SHELL__MAX };
extern const char *const opt_shell_names[];	/* by enum opt_shell, NULL-terminated */

struct opt_command {
	const char *name, *summary;
	const struct opt_set *sets;
	size_t n_sets;
};

/*
 * A whole completion script for @program and its commands. Values of OPT_ENUM are offered; the placeholder
 * FILE means file names, DIR folders, IFACE interfaces.
 */
int opt_complete(enum opt_shell shell, const char *program, const struct opt_command *cmds, size_t n_cmds,
		 struct buf *out);

#endif
