/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The modules of a symbolizer: files by several keys, and their descriptors. Private to src/sym.
 */
#ifndef SYM_MODULE_H
#define SYM_MODULE_H

#include "sym/symbolizer.h"

struct module *sym_module_at(const struct sym *s, uint32_t index); /* never NULL */
int sym_module_new(struct sym *s, enum sym_module_kind kind, const char *path, size_t len, uint32_t *ret);
void sym_module_free(struct module *m);

/* A mapped file as an event describes it. Strings are borrowed. */
struct file_fact {
	struct seen seen;
	uint64_t off;
	uint32_t dev, generation;
	const char *path;
	size_t path_len;
	const uint8_t *id;
	size_t id_len;
};

/* The module of a file; opens it at first sight when live. 0 or -ENOMEM. */
int sym_module_of_file(struct sym *s, const struct file_fact *f, uint32_t *ret);

/* Its descriptor, reopened if it was closed; -errno. Owned by the module. */
int sym_module_fd(struct sym *s, struct module *m);
void sym_module_touch(struct sym *s, struct module *m);	       /* marks it as most recently used */
void sym_module_distrust(struct sym *s, struct module *m);     /* its descriptor refers to another file */
void sym_module_keep(struct sym *s, struct module *m, int fd); /* takes ownership of @fd */

#endif
