#include "glob.h"

/* When the rest does not match, the last star takes one more byte. Earlier stars need not, so the work is at most the
 * product of the lengths. */
bool glob_matches(struct text glob, struct text text) {
    size_t at = 0, i = 0, star = glob.bytes_count, star_text = 0;
    while (i < text.bytes_count) {
        if (at < glob.bytes_count && glob.bytes[at] == '*') {
            star = at++;
            star_text = i;
        } else if (at < glob.bytes_count && (glob.bytes[at] == '?' || glob.bytes[at] == text.bytes[i])) {
            at++;
            i++;
        } else if (star < glob.bytes_count) {
            at = star + 1;
            i = ++star_text;
        } else {
            return false;
        }
    }
    while (at < glob.bytes_count && glob.bytes[at] == '*') at++;
    return at == glob.bytes_count;
}
