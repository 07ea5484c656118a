/* Names that the recorder's libraries share: the sampler's calls the recorder's functions, and the library that
 * programs preload calls those of both. They are exported, with a prefix that no program uses. */
#pragma once

/* Put this at the end of a declaration. */
#define GREC_SHARED(name) __asm__("grec_shared_" #name) __attribute__((visibility("default")))

/* The same for variables that recording calls read. In the library that has them they stay hidden, since reading an
 * exported variable takes one load more. Put GREC_SHARE_DATA(name); after the definition there. */
#ifdef GREC_HAS_SHARED_DATA
#define GREC_SHARED_DATA(name)
#define GREC_SHARE_DATA(name)                                            \
    extern __typeof__(name) name##_shared_ __asm__("grec_shared_" #name) \
        __attribute__((alias(#name), visibility("default")))
#else
#define GREC_SHARED_DATA(name) GREC_SHARED(name)
#define GREC_SHARE_DATA(name)  _Static_assert(1, #name)
#endif
