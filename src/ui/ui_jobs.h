/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each request is answered by a process of its own: a fork reads the kept events as they were at that moment, within
 * 2 s of CPU time and 64 MB, while the stream goes on. It has no rights and no descriptor but the pipe of its answer.
 */
#ifndef UI_UI_JOBS_H
#define UI_UI_JOBS_H

#include "ui/ui_query.h"
#include "ui/ui_source.h"

struct loop;
struct ui_jobs;

/* @prepare: called in this process before a job starts, for what its own process cannot do; may be NULL. */
int ui_jobs_new(struct loop *loop, const struct ui_source *source,
		void (*prepare)(void *ctx, const struct ui_query *q), void *ctx, struct ui_jobs **ret);
void ui_jobs_free(struct ui_jobs *j); /* its jobs end without an answer; NULL is fine */

/*
 * Starts or queues a job; @q is borrowed until it ended. @done gets the answer, whose body it may take over, and the
 * job is gone then. NULL without memory, or if too many wait.
 */
struct ui_job *ui_jobs_add(struct ui_jobs *j, const struct ui_query *q, void (*done)(void *ctx, struct ui_answer *a),
			   void *ctx);
void ui_jobs_cancel(struct ui_job *job); /* without a call of @done; NULL is fine */

#endif
