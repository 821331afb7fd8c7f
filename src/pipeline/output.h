/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One output of a pipeline: a sink and its file, subscribed to the bus.
 */
#ifndef PIPELINE_OUTPUT_H
#define PIPELINE_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "sinks/sink.h"

struct bus;
struct loop;
struct opener;
struct output;

/* @loop: of the run; the client of a server goes on in it. */
int output_open(struct bus *bus, struct loop *loop, const struct sink_ops *ops, const struct sink_opts *opts,
		const char *path, struct output **ret, struct err *err);

/*
 * Output to @fd, a regular file open for writing, which is truncated. Takes over @fd, also on failure. @name is for
 * messages.
 */
int output_open_fd(struct bus *bus, const struct sink_ops *ops, const struct sink_opts *opts, int fd,
		   const char *name, struct output **ret, struct err *err);
/*
 * Folder of rotated files, or -1. It is opened once, and all files are created below it. With an opener, a process
 * without the right to open files requests them from it as kind @what.
 */
int output_folder(const struct output *o);
void output_set_opener(struct output *o, struct opener *opener, uint32_t what);
/* Writes only events that @pass accepts. */
void output_set_pass(struct output *o, bool (*pass)(void *ctx, const struct event *ev), void *ctx);

/* A raw record; sinks without records ignore it. */
void output_record(struct output *o, const struct sonde_rec *r);
/* sink_ops.trigger and sink_ops.dumps; 0 for outputs that keep nothing. */
int output_trigger(struct output *o);
void output_dumps(const struct output *o, uint64_t *ret_dumps, uint64_t *ret_more);
/* The process of an earlier record: sink_ops.owner, if the format has it. */
bool output_wants_owners(const struct output *o);
void output_owner(struct output *o, uint64_t ts_ns, uint32_t tgid);
void output_flush(struct output *o);

/* For an output in parts, see enum sink_part; nothing for other outputs. */
bool output_part_is_due(const struct output *o);
void output_part(struct output *o, enum sink_part part);

/* 0, or the first error; later events are refused and counted. */
int output_error(const struct output *o);
/* Its last file is full: later events are ignored. */
bool output_done(const struct output *o);
bool output_is_aside(const struct output *o);	/* SINK_ASIDE */
/* Is it standard output, a pipe without a reader? */
bool output_unread(const struct output *o);

/* Trailer, flush, close; frees @o. Returns its first error (@err has the message). */
int output_close(struct output *o, struct err *err);

#endif
