/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Outputs in parts (a store's segments): a part ends with its names and ledgers, the next one begins with the state
 * that its records need.
 */
#ifndef PIPELINE_PIPELINE_PARTS_H
#define PIPELINE_PIPELINE_PARTS_H

struct pipeline;

/* Starts a new part of each output that is due. For live runs, between two batches of records. */
void pipeline_parts_turn(struct pipeline *p);

/* All that follows are names and ledgers of the last parts. */
void pipeline_parts_end(struct pipeline *p);

#endif
