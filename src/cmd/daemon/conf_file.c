// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/daemon/conf_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"

#define CONF_MAX_BYTES (1u << 20)

/* The owner must be root or this user, and the only writer: the file configures a privileged program. */
static int check_owner(const char *path, int fd, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_errno(err, -errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "%s is not a regular file", path);
	if ((st.st_uid && st.st_uid != geteuid()) || st.st_mode & 0022)
		return err_set(err, -EPERM, "%s: writable by other users; make root its owner and set mode 0644",
			       path);
	return st.st_size > CONF_MAX_BYTES ? err_set(err, -E2BIG, "%s: larger than a configuration file may be", path)
					   : 0;
}

static int read_all(const char *path, struct buf *ret, struct err *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int r;

	if (fd < 0)
		return err_errno(err, -errno, "cannot open %s", path);
	r = check_owner(path, fd, err);
	if (r < 0)
		return r;
	r = io_read_to_end(fd, CONF_MAX_BYTES, ret);
	return r < 0 ? err_errno(err, r, "cannot read %s", path) : 0;
}

/* Strips blanks from both ends, in place. */
static char *trim(char *s)
{
	char *end;

	s += strspn(s, " \t\r");
	end = s + strlen(s);
	while (end > s && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return s;
}

/*
 * "name = value" becomes "--name=value"; "name = yes" and "name = no" become switches if the row is one. Returns the
 * word, in @out.
 */
static void make_word(const struct opt_set *sets, size_t n_sets, const char *name, const char *value, struct buf *out)
{
	bool is_switch = false;

	for (size_t i = 0; i < n_sets; i++)
		for (const struct opt *o = sets[i].opts; opt_is_row(o); o++)
			is_switch |= o->name && !strcmp(o->name, name) && o->kind == OPT_BOOL;
	if (is_switch && !strcmp(value, "yes"))
		buf_printf(out, "--%s%c", name, 0);
	else if (is_switch && !strcmp(value, "no"))
		buf_printf(out, "--no-%s%c", name, 0);
	else
		buf_printf(out, "--%s=%s%c", name, value, 0);
}

static int take_line(const char *path, unsigned number, char *line, const struct opt_set *sets, size_t n_sets,
		     struct buf *words, struct err *err)
{
	char *equals = strchr(line, '='), *name;

	name = trim(line);
	if (!*name || *name == '#')
		return 0;
	if (!equals)
		return err_set(err, -EINVAL, "%s, line %u: \"name = value\" is expected", path, number);
	*equals = '\0';
	make_word(sets, n_sets, trim(name), trim(equals + 1), words);
	return 0;
}

/* Parses the words one at a time, so that an error has a line number; @words keeps them. */
static int parse_words(const char *path, const struct buf *words, const struct opt_set *sets, size_t n_sets,
		       struct err *err)
{
	struct opt_strv rest = { 0 };
	int r = 0;

	for (char *w = words->data; r >= 0 && w && w < words->data + words->len; w += strlen(w) + 1) {
		char *argv[] = { (char *)path, w };

		r = opt_parse(sets, n_sets, 2, argv, &rest, NULL, err);
	}
	opt_strv_fini(&rest);
	return r < 0 ? err_prefix(err, "%s", path) : 0;
}

int conf_file_read(const char *path, const struct opt_set *sets, size_t n_sets, char **ret_text, struct err *err)
{
	_cleanup_(buf_fini) struct buf text = { 0 }, words = { 0 };
	int r = read_all(path, &text, err);
	unsigned number = 0;
	char *rest, *line;

	if (r >= 0 && buf_add_char(&text, '\0') < 0)
		r = err_errno(err, -ENOMEM, "cannot read %s", path);
	rest = text.data;
	while (r >= 0 && (line = strsep(&rest, "\n")))
		r = take_line(path, ++number, line, sets, n_sets, &words, err);
	if (r >= 0 && buf_error(&words))
		r = err_errno(err, -ENOMEM, "cannot read %s", path);
	if (r >= 0)
		r = parse_words(path, &words, sets, n_sets, err);
	if (r < 0)
		return r;
	*ret_text = words.data;
	words = (struct buf){ 0 };
	return 0;
}
