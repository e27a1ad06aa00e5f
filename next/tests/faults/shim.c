/* A disk that fails on purpose, below one folder: preloaded, it stands between a process and the calls that change files.
 *
 * Set by the environment, read when the process starts and by fault_arm():
 *   FAULT_FOLDER  the folder; calls elsewhere pass uncounted
 *   FAULT_COUNT   a file of two 64-bit numbers shared by all processes: calls so far, and 1 + the number of the call hit
 *   FAULT_OPS     the calls that count: a mask of the bits below
 *   FAULT_AT      which of them is hit, from 1; 0 none
 *   FAULT_ERRNO   0: every process of the group is killed, a write after half of its bytes
 *   FAULT_GROUP   another group that is killed with it: that of the command, whose git has one of its own
 *                 else the call fails with this number, a write after half of its bytes went through
 *   FAULT_LASTING 1: all later calls that count fail too
 *   FAULT_LOG     a file that gets every call that changed something, with its bytes, for replay (see power_cut.py)
 *
 * Does not see: writes through mmap, writes inside stdio, io_uring. mem and SQLite use none of them for what they promise.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CREATE, WRITE, FSYNC, TRUNCATE, RENAME, LINK, UNLINK, MKDIR, RMDIR, OPEN, READ };
static const char *const NAMES[] = {"create", "write", "fsync", "truncate", "rename", "link",
                                    "unlink", "mkdir", "rmdir", "open",     "read"};

static char folder[PATH_MAX];
static size_t folder_length;
static long at, ops, failure, lasting, group;
static int log_fd = -1;
static int stopped; /* a disk that filled up in the middle of a write refuses the rest of it */
static int64_t *counted; /* [0] calls so far, [1] one more than the call that was hit */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static long number(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

__attribute__((constructor, visibility("default"))) void fault_arm(void) {
    const char *text = getenv("FAULT_FOLDER"), *shared = getenv("FAULT_COUNT"), *log = getenv("FAULT_LOG");
    folder_length = 0;
    counted = NULL;
    log_fd = -1;
    stopped = 0;
    if (!text || !*text || !shared) return;
    at = number("FAULT_AT"), ops = number("FAULT_OPS"), failure = number("FAULT_ERRNO");
    lasting = number("FAULT_LASTING"), group = number("FAULT_GROUP");
    int fd = syscall(SYS_openat, AT_FDCWD, shared, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || syscall(SYS_ftruncate, fd, 16)) abort();
    counted = mmap(NULL, 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (counted == MAP_FAILED) abort();
    syscall(SYS_close, fd);
    if (log && *log) {
        fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        log_fd = syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 700); /* out of the way of numbers a test may look at */
        syscall(SYS_close, fd);
    }
    snprintf(folder, sizeof folder, "%s", text);
    folder_length = strlen(folder);
}

/* Say where a call goes; empty if that is elsewhere. */
static void of_fd(int fd, char *place) {
    char name[40];
    *place = 0;
    if (!folder_length) return;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t size = syscall(SYS_readlinkat, AT_FDCWD, name, place, PATH_MAX - 1);
    place[size > 0 ? size : 0] = 0;
}

static int below(const char *place) {
    return folder_length && !strncmp(place, folder, folder_length) &&
           (place[folder_length] == '/' || !place[folder_length]);
}

static void of_path(int dir, const char *path, char *place) {
    char base[PATH_MAX];
    *place = 0;
    if (!folder_length || !path) return;
    if (*path == '/') {
        snprintf(place, PATH_MAX, "%s", path);
        return;
    }
    if (dir == AT_FDCWD) {
        if (syscall(SYS_getcwd, base, sizeof base) < 0) return;
    } else
        of_fd(dir, base);
    if (*base && strlen(base) + strlen(path) + 2 < PATH_MAX) {
        strcpy(place, base);
        strcat(strcat(place, "/"), path);
    }
}

static void put(const void *data, size_t size) {
    const char *from = data;
    while (size) {
        ssize_t done = syscall(SYS_write, log_fd, from, size);
        if (done <= 0) abort();
        from += done, size -= done;
    }
}

/* Note a call that was made: op, inode, offset, size and both paths on a line, then the bytes. */
static void note(int op, int64_t inode, int64_t offset, const void *data, size_t size, const char *one, const char *two) {
    char line[2 * PATH_MAX + 100];
    if (log_fd < 0) return;
    int length = snprintf(line, sizeof line, "%s\t%lld\t%lld\t%zu\t%s\t%s\n", NAMES[op], (long long)inode,
                          (long long)offset, data ? size : 0, one, two ? two : "");
    put(line, length);
    if (data) put(data, size);
}

static int64_t inode_of(int fd) {
    struct stat seen;
    return fstat(fd, &seen) ? 0 : (int64_t)seen.st_ino;
}

static void die(void) {
    if (group > 1) syscall(SYS_kill, -group, SIGKILL);
    for (;;) syscall(SYS_kill, 0, SIGKILL);
}

/* Count a call; return whether it fails. The caller holds the turn. */
static int is_hit(int op) {
    if (!(ops >> op & 1)) return 0;
    int64_t count = __atomic_add_fetch(&counted[0], 1, __ATOMIC_SEQ_CST);
    if (!at || count < at || (count > at && !lasting)) return 0;
    if (!counted[1]) counted[1] = op + 1;
    return 1;
}

#define TAKE pthread_mutex_lock(&turn)
#define GIVE pthread_mutex_unlock(&turn)
/* The frame of a call that is made or not made, but never half. */
#define CALL(op, here, call, noting)                     \
    do {                                                 \
        if (!(here)) return (call);                      \
        TAKE;                                            \
        if (is_hit(op)) {                                \
            if (!failure) die();                         \
            GIVE;                                        \
            errno = failure;                             \
            return -1;                                   \
        }                                                \
        __typeof__(call) result = (call);                \
        int kept = errno;                                \
        if (result >= 0) noting;                         \
        GIVE;                                            \
        errno = kept;                                    \
        return result;                                   \
    } while (0)

/* Write by one system call; when hit, half of the bytes go first. */
typedef ssize_t (*writer)(int, const void *, size_t, off_t);

static ssize_t plain(int fd, const void *data, size_t size, off_t offset) {
    (void)offset;
    return syscall(SYS_write, fd, data, size);
}

static ssize_t placed(int fd, const void *data, size_t size, off_t offset) {
    return syscall(SYS_pwrite64, fd, data, size, offset);
}

static ssize_t written(int fd, const void *data, size_t size, off_t offset, writer once) {
    char place[PATH_MAX];
    of_fd(fd, place);
    if (!below(place)) return once(fd, data, size, offset);
    TAKE;
    int hit = is_hit(WRITE);
    if (once == plain) {
        int flags = syscall(SYS_fcntl, fd, F_GETFL);
        offset = lseek(fd, 0, flags & O_APPEND ? SEEK_END : SEEK_CUR);
    }
    ssize_t result = -1;
    if (hit && failure && (stopped || size < 2)) {
        stopped = lasting;
        errno = failure;
    } else {
        result = once(fd, data, hit ? size / 2 : size, offset);
        if (hit && !failure) die();
        if (hit && !lasting) at++; /* the rest is refused as well */
        stopped = hit;
    }
    int kept = errno;
    if (result > 0) note(WRITE, inode_of(fd), offset, data, result, place, NULL);
    GIVE;
    errno = kept;
    return result;
}

ssize_t write(int fd, const void *data, size_t size) { return written(fd, data, size, 0, plain); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return written(fd, data, size, offset, placed); }
ssize_t pwrite64(int fd, const void *data, size_t size, off_t offset) { return written(fd, data, size, offset, placed); }

ssize_t writev(int fd, const struct iovec *parts, int count) {
    char place[PATH_MAX];
    of_fd(fd, place);
    if (!below(place)) return syscall(SYS_writev, fd, parts, count);
    ssize_t sum = 0;
    for (int part = 0; part < count; part++) {
        ssize_t done = write(fd, parts[part].iov_base, parts[part].iov_len);
        if (done < 0) return sum ? sum : -1;
        sum += done;
        if ((size_t)done < parts[part].iov_len) break;
    }
    return sum;
}

/* Copies inside the kernel are left to the caller's own loop of read and write, which is seen. */
ssize_t sendfile(int out, int in, off_t *offset, size_t size) {
    char place[PATH_MAX];
    of_fd(out, place);
    if (below(place)) {
        errno = EINVAL;
        return -1;
    }
    return syscall(SYS_sendfile, out, in, offset, size);
}
ssize_t sendfile64(int out, int in, off64_t *offset, size_t size) { return sendfile(out, in, (off_t *)offset, size); }

ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags) {
    char place[PATH_MAX];
    of_fd(out, place);
    if (below(place)) {
        errno = EXDEV;
        return -1;
    }
    return syscall(SYS_copy_file_range, in, from, out, to, size, flags);
}

ssize_t read(int fd, void *data, size_t size) {
    char place[PATH_MAX] = "";
    if (ops >> READ & 1) of_fd(fd, place);
    CALL(READ, below(place), (ssize_t)syscall(SYS_read, fd, data, size), (void)0);
}

ssize_t pread(int fd, void *data, size_t size, off_t offset) {
    char place[PATH_MAX] = "";
    if (ops >> READ & 1) of_fd(fd, place);
    CALL(READ, below(place), (ssize_t)syscall(SYS_pread64, fd, data, size, offset), (void)0);
}
ssize_t pread64(int fd, void *data, size_t size, off_t offset) { return pread(fd, data, size, offset); }

static int opened(int dir, const char *path, int flags, mode_t mode) {
    char place[PATH_MAX];
    struct stat seen;
    of_path(dir, path, place);
    if (!below(place)) return syscall(SYS_openat, dir, path, flags, mode);
    int is_new = flags & O_CREAT && fstatat(dir, path, &seen, AT_SYMLINK_NOFOLLOW) && errno == ENOENT;
    int empties = !is_new && flags & O_TRUNC && !fstatat(dir, path, &seen, 0) && seen.st_size;
    CALL(is_new ? CREATE : empties ? TRUNCATE : OPEN, 1, (int)syscall(SYS_openat, dir, path, flags, mode),
         if (is_new || empties) note(is_new ? CREATE : TRUNCATE, inode_of(result), 0, NULL, 0, place, NULL));
}

#define MODE                                \
    mode_t mode = 0;                        \
    if (flags & (O_CREAT | O_TMPFILE)) {    \
        va_list rest;                       \
        va_start(rest, flags);              \
        mode = va_arg(rest, mode_t);        \
        va_end(rest);                       \
    }
int open(const char *path, int flags, ...) { MODE return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE return opened(AT_FDCWD, path, flags, mode); }
int openat(int dir, const char *path, int flags, ...) { MODE return opened(dir, path, flags, mode); }
int openat64(int dir, const char *path, int flags, ...) { MODE return opened(dir, path, flags, mode); }
int creat(const char *path, mode_t mode) { return opened(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return creat(path, mode); }

static int synced(int fd, long call) {
    char place[PATH_MAX];
    of_fd(fd, place);
    CALL(FSYNC, below(place), (int)syscall(call, fd), note(FSYNC, inode_of(fd), 0, NULL, 0, place, NULL));
}
int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

int ftruncate(int fd, off_t size) {
    char place[PATH_MAX];
    of_fd(fd, place);
    CALL(TRUNCATE, below(place), (int)syscall(SYS_ftruncate, fd, size),
         note(TRUNCATE, inode_of(fd), size, NULL, 0, place, NULL));
}
int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }

static int renamed(int old_dir, const char *old, int new_dir, const char *new, unsigned flags) {
    char one[PATH_MAX], two[PATH_MAX];
    of_path(old_dir, old, one), of_path(new_dir, new, two);
    CALL(RENAME, below(one) || below(two), (int)syscall(SYS_renameat2, old_dir, old, new_dir, new, flags),
         note(RENAME, 0, 0, NULL, 0, one, two));
}
int rename(const char *old, const char *new) { return renamed(AT_FDCWD, old, AT_FDCWD, new, 0); }
int renameat(int old_dir, const char *old, int new_dir, const char *new) { return renamed(old_dir, old, new_dir, new, 0); }
int renameat2(int old_dir, const char *old, int new_dir, const char *new, unsigned flags) {
    return renamed(old_dir, old, new_dir, new, flags);
}

int linkat(int old_dir, const char *old, int new_dir, const char *new, int flags) {
    char one[PATH_MAX], two[PATH_MAX];
    of_path(old_dir, old, one), of_path(new_dir, new, two);
    CALL(LINK, below(two), (int)syscall(SYS_linkat, old_dir, old, new_dir, new, flags), note(LINK, 0, 0, NULL, 0, one, two));
}
int link(const char *old, const char *new) { return linkat(AT_FDCWD, old, AT_FDCWD, new, 0); }

int unlinkat(int dir, const char *path, int flags) {
    char place[PATH_MAX];
    int op = flags & AT_REMOVEDIR ? RMDIR : UNLINK;
    of_path(dir, path, place);
    CALL(op, below(place), (int)syscall(SYS_unlinkat, dir, path, flags), note(op, 0, 0, NULL, 0, place, NULL));
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int dir, const char *path, mode_t mode) {
    char place[PATH_MAX];
    of_path(dir, path, place);
    CALL(MKDIR, below(place), (int)syscall(SYS_mkdirat, dir, path, mode), note(MKDIR, 0, 0, NULL, 0, place, NULL));
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
