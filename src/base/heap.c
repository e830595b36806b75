/*
 * heap.c - how much the process has allocated
 *
 * The sanitizers bring an allocator of their own, which mallinfo2() knows nothing of.
 */
#include "base/heap.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HEAP_OF_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEAP_OF_SANITIZER
#endif

#ifdef HEAP_OF_SANITIZER
#include <stddef.h>

/* From sanitizer/allocator_interface.h, which not every compiler's package brings along. */
size_t __sanitizer_get_current_allocated_bytes(void);

uint64_t heap_bytes(void)
{
	return __sanitizer_get_current_allocated_bytes();
}
#else
#include <malloc.h>

uint64_t heap_bytes(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}
#endif
