/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small macros for all modules. None hides control flow.
 */
#ifndef BASE_MACROS_H
#define BASE_MACROS_H

#include <stddef.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define MIN(a, b) \
	({ __typeof__(a) _min_a = (a); __typeof__(b) _min_b = (b); _min_a < _min_b ? _min_a : _min_b; })
#define MAX(a, b) \
	({ __typeof__(a) _max_a = (a); __typeof__(b) _max_b = (b); _max_a > _max_b ? _max_a : _max_b; })

/* Negative, 0 or positive, for functions that sort in ascending order. */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

#define ROUND_UP(x, to) ((((x) + (to) - 1) / (to)) * (to))

/* for (...) over @n items: @it points to each of them in turn. The array must not move meanwhile. */
#define each_item(it, items, n) for (__typeof__(*(items)) *it = (items); it && it < (items) + (n); it++)

/*
 * The first of @n items for which the condition holds, an expression of @it, which points to the item; NULL if it
 * holds for none.
 */
#define FIND_ITEM(it, items, n, ...) \
	({ \
		__typeof__(*(items)) *it = (items); \
		size_t _find_left = (size_t)(n); \
		while (_find_left && !(__VA_ARGS__)) \
			it++, _find_left--; \
		_find_left ? it : NULL; \
	})
#define ARRAY_FIND(it, array, ...) FIND_ITEM(it, array, ARRAY_SIZE(array), __VA_ARGS__)

/*
 * How many of the first indexes below @n the condition holds for, an expression of the index @i that holds up to one
 * index and for none from there on.
 */
#define BISECT(i, n, ...) \
	({ \
		size_t _bisect_low = 0, _bisect_high = (n), i; \
		while (_bisect_low < _bisect_high) { \
			i = _bisect_low + (_bisect_high - _bisect_low) / 2; \
			if (__VA_ARGS__) \
				_bisect_low = i + 1; \
			else \
				_bisect_high = i; \
		} \
		_bisect_low; \
	})

#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define _printf_(fmt, args) __attribute__((format(printf, fmt, args)))
#define _unused_ __attribute__((unused))

/* 1 if built with a sanitizer, whose runtime needs more memory and system calls than the program. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* Units of time; every time in the program is in nanoseconds (clock.h). */
#define NS_PER_MS 1000000ULL
#define NS_PER_S 1000000000ULL

#endif
