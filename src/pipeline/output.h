/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One output of a pipeline: a sink with its file, subscribed to the bus.
 */
#ifndef AGENT_OUTPUT_H
#define AGENT_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "sinks/sink.h"

struct bus;
struct err;
struct event;
struct opener;
struct output;
struct sonde_rec;

int output_open(struct bus *bus, const struct sink_ops *ops, const struct sink_opts *opts, const char *path,
		struct output **ret, struct err *err);

/* Into @fd (owned, also on failure), which is emptied: a regular file, open for writing. @name is for messages. */
int output_open_fd(struct bus *bus, const struct sink_ops *ops, const struct sink_opts *opts, int fd,
		   const char *name, struct output **ret, struct err *err);
/*
 * The folder of rotated files, or -1: opened once; all files are made below it. With an opener, files are requested
 * from it as kind @what, for a process that has lost the right to open them.
 */
int output_folder(const struct output *o);
void output_set_opener(struct output *o, struct opener *opener, uint32_t what);
/* Only events that @pass lets through are written. */
void output_set_pass(struct output *o, bool (*pass)(void *ctx, const struct event *ev), void *ctx);

/* A raw record, for sinks that take records; others ignore it. */
void output_record(struct output *o, const struct sonde_rec *r);
void output_flush(struct output *o);

/* 0, or the first error of the output; from then on it takes nothing and counts what it refuses. */
int output_error(const struct output *o);
/* Its last file is full: it takes nothing more, and nothing is wrong. */
bool output_done(const struct output *o);
/* It is standard output, a pipe that has lost its reader. */
bool output_unread(const struct output *o);

/* Trailers, flush, close. Returns the first error of its life (@err says); frees @o. */
int output_close(struct output *o, struct err *err);

#endif
