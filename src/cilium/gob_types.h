/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers of gob's built-in types, for decoder and encoder. Source: Go's package encoding/gob.
 */
#ifndef CILIUM_GOB_TYPES_H
#define CILIUM_GOB_TYPES_H

/* Ids predefined in every stream. */
enum { ID_BOOL = 1, ID_INT, ID_UINT, ID_FLOAT, ID_BYTES, ID_STRING, ID_COMPLEX, ID_INTERFACE };

enum type_shape { SHAPE_ARRAY, SHAPE_SLICE, SHAPE_STRUCT, SHAPE_MAP, SHAPE_OPAQUE, SHAPE__MAX };

#endif
