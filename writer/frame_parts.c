#include "frame_parts.h"

#include "libconvert/base/text.h"

static const struct {
    struct text name;
    unsigned parts;
} NAMES[] = {
    {TEXT("comm"), FRAME_PART_COMM},
    {TEXT("pid"), FRAME_PART_COMM | FRAME_PART_PID},
    {TEXT("tid"), FRAME_PART_COMM | FRAME_PART_PID | FRAME_PART_TID},
    {TEXT("kernel"), FRAME_PART_KERNEL},
    {TEXT("jit"), FRAME_PART_JIT},
    {TEXT("inline"), FRAME_PART_INLINE},
    {TEXT("addresses"), FRAME_PART_ADDRESSES},
    {TEXT("none"), 0},
};
enum { NAME_COUNT = sizeof NAMES / sizeof *NAMES };

bool frame_parts_parse(const char *list, unsigned *parts) {
    struct text rest = list ? text_of(list) : TEXT("comm");
    *parts = 0;
    for (size_t end;; rest = text_from(rest, end + 1)) {
        end = text_find(rest, ',');
        size_t i = 0;
        while (i < NAME_COUNT && !text_equal(NAMES[i].name, text_slice(rest, 0, end))) i++;
        if (i == NAME_COUNT) return false;
        *parts |= NAMES[i].parts;
        if (end == rest.bytes_count) return true;
    }
}
