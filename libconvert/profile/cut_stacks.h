/* Stacks whose outermost callers are missing. */
#ifndef GECKO_CUT_STACKS_H
#define GECKO_CUT_STACKS_H

/* The function at the root of a stack that is known to lack callers. */
#define TRUNCATED_STACK_NAME "[truncated stack]"

/* How notes about many such stacks begin in the ledger; what to do about it follows. The summary shows them. */
#define CUT_STACKS_CAUSE "stack that ends early: "

#endif
