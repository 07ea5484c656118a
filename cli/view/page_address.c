#include "page_address.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Parts of addresses. ---- */

/* Writes the text percent-encoded, as one part of a path or a query. */
static void put_encoded(FILE *out, struct text text) {
    for (size_t i = 0; i < text.bytes_count; i++) {
        char c = text.bytes[i];
        bool is_plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("-._~", c));
        fprintf(out, is_plain ? "%c" : "%%%02X", (unsigned char)c);
    }
}

/* Writes the encoded address of the name on this server; an empty name stands for the server itself. */
static void put_served(FILE *out, const struct site *site, const char *name) {
    char address[SITE_HOST_BYTES + SITE_TOKEN_DIGITS + SITE_PROFILE_NAME_BYTES + 16];
    snprintf(address, sizeof address, "http://%s/%s%s%s", site->host, site->token, *name ? "/" : "", name);
    put_encoded(out, text_of(address));
}

/* Writes the encoded address of a page that shows the compared thread of the profile. The viewer compares two pages. It
 * reads only their paths, which must begin at the root. */
static void put_page(FILE *out, const struct site *site, const struct served_profile *served, unsigned number) {
    char name[SITE_PROFILE_NAME_BYTES], *page = NULL;
    size_t page_bytes;
    FILE *in_memory = open_memstream(&page, &page_bytes);
    if (!in_memory) return;
    site_profile_name(number, name);
    fprintf(in_memory, "%s/from-url/", site->viewer_origin);
    put_served(in_memory, site, name);
    fprintf(in_memory, "/calltree/?thread=%zu&profileName=", page_compared_thread(site, served));
    put_encoded(in_memory, served->name);
    if (fclose(in_memory) == 0) put_encoded(out, text_of(page));
    free(page);
}

size_t page_compared_thread(const struct site *site, const struct served_profile *served) {
    const struct served_profile *first = site->profiles;
    size_t thread = served_profile_busiest_thread(first, NULL);
    if (served == first) return thread;
    const struct served_thread *reference = thread < first->threads.count ? column_at(&first->threads, thread) : NULL;
    return served_profile_busiest_thread(served, reference);
}

/* ---- The whole. ---- */

static void put_comparison(FILE *out, const struct site *site) {
    unsigned number = 1;
    fprintf(out, "/compare/?");
    for (const struct served_profile *served = site->profiles; served; served = served->next) {
        fprintf(out, "profiles%%5B%%5D=");
        put_page(out, site, served, number++);
        fprintf(out, "&");
    }
}

static void put_one(FILE *out, const struct site *site, const char *name) {
    fprintf(out, "/from-url/");
    put_served(out, site, name);
    fprintf(out, "/?");
}

char *page_address_create(const struct site *site, const char *viewer, enum shown_as shown_as) {
    char name[SITE_PROFILE_NAME_BYTES], *address = NULL;
    size_t address_bytes;
    FILE *out = open_memstream(&address, &address_bytes);
    if (!out) return NULL;
    fprintf(out, "%s", viewer);
    site_profile_name(1, name);
    if (shown_as == SHOWN_COMPARED)
        put_comparison(out, site);
    else
        put_one(out, site, shown_as == SHOWN_ALONE ? name : SITE_ARCHIVE_NAME);
    fprintf(out, "symbolServer=");
    put_served(out, site, "");
    if (fclose(out) == 0) return address;
    free(address);
    return NULL;
}
