/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Units of time; every time in the program is in nanoseconds (clock.h). */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#define NS_PER_MS 1000000ULL
#define NS_PER_S 1000000000ULL

#endif
