/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Open files by the number that the kernel side gave them: a description, the same for all processes and times.
 */
#ifndef STATE_FILE_H
#define STATE_FILE_H

#include <stdint.h>

struct state;

/* Keeps a copy of the description of file @number of @instance; replaces an older one. 0 or -ENOMEM. */
int state_file_set(struct state *s, uint16_t instance, uint64_t number, const void *data, uint32_t len);

/*
 * The description and its length: 0, -ENOENT, or -ESTALE if it was evicted. *ret is 8-byte aligned and valid until
 * the next state_file_set().
 */
int state_file_find(struct state *s, uint16_t instance, uint64_t number, const void **ret, uint32_t *ret_len);

#endif
