/* Defines which sanitizers this program is built with. */
#pragma once

#if defined(__SANITIZE_THREAD__)
#define HAS_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_THREAD_SANITIZER 1
#endif
#endif
#ifndef HAS_THREAD_SANITIZER
#define HAS_THREAD_SANITIZER 0
#endif

#if defined(__SANITIZE_ADDRESS__) || HAS_THREAD_SANITIZER
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif
