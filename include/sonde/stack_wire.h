/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Why a user stack ends where it ends: travels in records, known to whoever walks stacks and to whoever shows them.
 * Append only.
 */
#ifndef SONDE_STACK_WIRE_H
#define SONDE_STACK_WIRE_H

#define SONDE_STACK_NONE 0	/* there is none: a kernel thread, or not asked for */
#define SONDE_STACK_BOTTOM 1	 /* complete: the outermost function has no return address, by its rows */
#define SONDE_STACK_NO_TABLE 2	/* the file's unwind rows are not loaded yet */
#define SONDE_STACK_NO_RULE 3	/* no rule for this address, and no frame pointer that helps */
#define SONDE_STACK_NO_MAPPING 4	/* an address of no executable mapping */
#define SONDE_STACK_MEMORY 5	/* the stack could not be read */
#define SONDE_STACK_DEPTH 6	/* more frames than are walked */
#define SONDE_STACK_FP 7	/* the chain of frame pointers broke */
#define SONDE_STACK_RULE 8	/* a rule of a kind that is not walked */
#define SONDE_STACK_BUSY 9	/* the mappings could not be read at that moment */
#define SONDE_STACK__MAX 10

#endif
