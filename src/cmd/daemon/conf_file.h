/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Configuration files: "name = value" lines for option rows. Options of the command line
 * override them.
 */
#ifndef CMD_CONF_FILE_H
#define CMD_CONF_FILE_H

#include <stddef.h>

#include "base/opt.h"

/*
 * Applies the file @path to @sets. *ret_text (free()) holds the values from then on. Refuses a file that users other
 * than root and this user can write (-EPERM). -ENOENT if it does not exist; -EINVAL names the line.
 */
int conf_file_read(const char *path, const struct opt_set *sets, size_t n_sets, char **ret_text, struct err *err);

#endif
