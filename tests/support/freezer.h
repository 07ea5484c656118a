/* Freezes a process in a control group of its own, as `docker pause` does. */
#pragma once

#include <errno.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct freezer_kind {
    const char *file, *frozen, *thawed; /* write these texts into this file */
    const char *state_file, *is_frozen; /* the process is frozen once that file has this text */
};

/* Version 2 of control groups, and version 1. */
static const struct freezer_kind freezer_kinds[] = {
    {"cgroup.freeze", "1", "0", "cgroup.events", "frozen 1"},
    {"freezer.state", "FROZEN", "THAWED", "freezer.state", "FROZEN"},
};

struct freezer {
    const struct freezer_kind *kind;
    char folder[256];
};

static inline bool freezer_write(const struct freezer *freezer, const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", freezer->folder, name);
    FILE *file = fopen(path, "we");
    if (!file) return false;
    bool is_written = fputs(text, file) >= 0;
    return fclose(file) == 0 && is_written;
}

static inline bool freezer_has_text(const struct freezer *freezer, const char *name, const char *text) {
    char path[512], line[128];
    bool has_text = false;
    snprintf(path, sizeof path, "%s/%s", freezer->folder, name);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) has_text |= strncmp(line, text, strlen(text)) == 0;
    if (file) fclose(file);
    return has_text;
}

/* Makes a control group below the mount point. Returns false if it cannot freeze processes. */
static inline bool freezer_make(struct freezer *freezer, const char *mount_point) {
    struct stat status;
    char path[512];
    snprintf(freezer->folder, sizeof freezer->folder, "%s/gecko-test-%ld", mount_point, (long)getpid());
    if (mkdir(freezer->folder, 0755) != 0) return false;
    for (size_t i = 0; i < sizeof freezer_kinds / sizeof *freezer_kinds; i++) {
        freezer->kind = &freezer_kinds[i];
        snprintf(path, sizeof path, "%s/%s", freezer->folder, freezer->kind->file);
        if (stat(path, &status) == 0) return true;
    }
    rmdir(freezer->folder);
    return false;
}

static inline bool freezer_is_below(const struct mntent *mount) {
    return strcmp(mount->mnt_type, "cgroup2") == 0 ||
           (strcmp(mount->mnt_type, "cgroup") == 0 && hasmntopt(mount, "freezer"));
}

/* Returns false if no such control group can be made here. */
static inline bool freezer_init(struct freezer *freezer) {
    bool is_made = false;
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    for (struct mntent *mount; mounts && !is_made && (mount = getmntent(mounts));)
        is_made = freezer_is_below(mount) && freezer_make(freezer, mount->mnt_dir);
    if (mounts) endmntent(mounts);
    return is_made;
}

/* Freezes the process, and waits until it is frozen. Returns false if that fails. */
static inline bool freezer_freeze(const struct freezer *freezer, pid_t pid) {
    char text[32];
    snprintf(text, sizeof text, "%ld", (long)pid);
    if (!freezer_write(freezer, "cgroup.procs", text)) return false;
    if (!freezer_write(freezer, freezer->kind->file, freezer->kind->frozen)) return false;
    while (!freezer_has_text(freezer, freezer->kind->state_file, freezer->kind->is_frozen)) usleep(1000);
    return true;
}

static inline bool freezer_thaw(const struct freezer *freezer) {
    return freezer_write(freezer, freezer->kind->file, freezer->kind->thawed);
}

/* Removes the control group once its processes have ended. */
static inline void freezer_fini(const struct freezer *freezer) {
    freezer_thaw(freezer);
    while (rmdir(freezer->folder) != 0 && errno == EBUSY) usleep(1000);
}
