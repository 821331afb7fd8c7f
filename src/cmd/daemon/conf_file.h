/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Configuration files: "name = value" lines for option rows. Options of the command line
 * override them.
 */
#ifndef CMD_CONF_FILE_H
#define CMD_CONF_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/opt.h"

struct err;

/*
 * Sets what @path says in @sets. *ret_text (free()) holds the values from then on. A file that others than root
 * and this user could have written is refused (-EPERM). -ENOENT when there is none; -EINVAL names the line.
 */
int conf_file_read(const char *path, const struct opt_set *sets, size_t n_sets, char **ret_text, struct err *err);

#endif
