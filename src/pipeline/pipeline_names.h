/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording has the names of its functions behind the events. Where a filter asks for functions, the file is read
 * twice: for the names, then for the events. Private to src/pipeline.
 */
#ifndef PIPELINE_PIPELINE_NAMES_H
#define PIPELINE_PIPELINE_NAMES_H

struct err;
struct pipeline;

/* Opens @path for the first reading, if it can be read twice. 0 or -errno. */
int pipeline_names_open(struct pipeline *p, const char *path, struct err *err);
/* Reads the names, if it was opened. The second reading reports defects of the file. */
void pipeline_names_read(struct pipeline *p);

#endif
