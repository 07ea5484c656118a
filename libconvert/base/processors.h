#ifndef GECKO_PROCESSORS_H
#define GECKO_PROCESSORS_H

/* Returns the number of processors that the calling thread may use, at least 1: those that its affinity allows, or
 * fewer if its control groups limit the processor time. Thread-safe. */
unsigned processors_available(void);

#endif
