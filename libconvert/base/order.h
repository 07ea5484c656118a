/* Orders rows, for the functions that qsort, memory_sort and column_sort call. Several orders are joined by "?:": the
 * second one decides between rows that the first one finds equal. */
#pragma once

/* Returns a negative number, 0 or a positive one if the first number is smaller, equal or larger. */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* Orders two rows of a type, given by `const void *`, by one of their members. */
#define ORDER_BY(type, member, a, b) ORDER(((const type *)(a))->member, ((const type *)(b))->member)
