/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for the stacks of a recorded segment, from files of this host.
 */
#ifndef CMD_SYMBOLIZE_H
#define CMD_SYMBOLIZE_H

#include <stdint.h>

struct err;
struct store_file;

struct symbolize_counts {
	uint64_t named, missing;	/* locations: named now; of files that could not be read or are others now */
};

/*
 * Adds the names of the segment @f of the store @path, open as @dir_fd: of the locations that have none in it, by
 * files below @symfs with the build id of the mapping. Replaces the segment if there are any, and adds to *counts. 0
 * or -errno with a message.
 */
int symbolize_segment(const char *path, int dir_fd, const struct store_file *f, const char *symfs,
		      struct symbolize_counts *counts, struct err *err);

#endif
