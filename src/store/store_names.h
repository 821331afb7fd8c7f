/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for the stacks of a segment that is sealed already.
 */
#ifndef STORE_STORE_NAMES_H
#define STORE_STORE_NAMES_H

struct buf;
struct store_file;

/*
 * Replaces the sealed segment @f of the directory, as a whole, by one with further names: @records are those of
 * sonde/symbol_wire.h, each padded to SONDE_STORE_ALIGN. Its readers keep the old one. 0; -ENOENT if it was removed
 * meanwhile, -EBADMSG if it has no sound index, or -errno; then it is as it was.
 */
int store_names_add(int dir_fd, const struct store_file *f, const struct buf *records);

#endif
