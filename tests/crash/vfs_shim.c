#include "tests/crash/vfs_shim.h"

#include <pthread.h>
#include <sqlite3.h>
#include <string.h>

#include "base/err.h"
#include "tests/crash/vfs_locks.h"

enum { NAME_MAX_LEN = 1024, SECTOR = 4096 };

struct handle {
    sqlite3_file base;
    struct disk_file *file;
    bool syncs_folder; /* with its first sync */
    struct vfs_holder holder;
};

static struct {
    pthread_mutex_t mutex;
    struct disk *disk;
    struct prng chance;
    uint32_t open;
    uint64_t counts[SHIM_OP_COUNT];
    uint64_t fail_in;   /* operations until one fails; 0 = none does */
    enum shim_op which; /* SHIM_OP_COUNT: of any kind */
    bool lasting;
    bool failing; /* every operation does */
    uint64_t fill_in;
    bool full;
    bool failed;
    enum shim_op first_failed;
    bool sync_failed;
    void (*watch)(void *context, const struct disk *disk);
    void *watch_context;
    sqlite3_vfs *system;
} shim = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static const struct {
    const char *name;
    int error;
} ops[SHIM_OP_COUNT] = {
    [SHIM_OPEN] = {"open", SQLITE_CANTOPEN},
    [SHIM_DELETE] = {"delete", SQLITE_IOERR_DELETE},
    [SHIM_ACCESS] = {"access", SQLITE_IOERR_ACCESS},
    [SHIM_READ] = {"read", SQLITE_IOERR_READ},
    [SHIM_WRITE] = {"write", SQLITE_IOERR_WRITE},
    [SHIM_TRUNCATE] = {"truncate", SQLITE_IOERR_TRUNCATE},
    [SHIM_SYNC] = {"sync", SQLITE_IOERR_FSYNC},
    [SHIM_SIZE] = {"size", SQLITE_IOERR_FSTAT},
    [SHIM_LOCK] = {"lock", SQLITE_IOERR_LOCK},
    [SHIM_MAP] = {"map", SQLITE_IOERR_SHMMAP},
};

const char *shim_op_name(enum shim_op op)
{
    return ops[op].name;
}

static void enter(void)
{
    must(pthread_mutex_lock(&shim.mutex) == 0);
}

static int leave(int result)
{
    must(pthread_mutex_unlock(&shim.mutex) == 0);
    return result;
}

static int note_failure(enum shim_op op, int error)
{
    if (!shim.failed)
        shim.first_failed = op;
    shim.failed = true;
    shim.sync_failed |= op == SHIM_SYNC;
    return error;
}

/* Count the operation; SQLITE_OK when it may go on. */
static int attempt(enum shim_op op)
{
    shim.counts[op]++;
    const bool meant = shim.which == SHIM_OP_COUNT || shim.which == op;
    if (meant && shim.fail_in && --shim.fail_in == 0) {
        shim.failing = shim.lasting;
        return note_failure(op, ops[op].error);
    }
    if (meant && shim.failing)
        return note_failure(op, ops[op].error);
    if (op != SHIM_WRITE)
        return SQLITE_OK;
    if (shim.fill_in && --shim.fill_in == 0)
        shim.full = true;
    return shim.full ? note_failure(op, SQLITE_FULL) : SQLITE_OK;
}

static struct handle *of(sqlite3_file *base)
{
    return (struct handle *)(void *)base;
}

static struct vfs_locks *locks_of(sqlite3_file *base)
{
    return of(base)->file->locks;
}

/* ---- bytes ---- */

static int file_read(sqlite3_file *base, void *out, int size, sqlite3_int64 at)
{
    enter();
    const int result = attempt(SHIM_READ);
    if (result != SQLITE_OK)
        return leave(result);
    const uint32_t there = disk_read(of(base)->file, (uint64_t)at, (uint32_t)size, out);
    return leave(there == (uint32_t)size ? SQLITE_OK : SQLITE_IOERR_SHORT_READ);
}

/* A write that fails has done half of its work. */
static int file_write(sqlite3_file *base, const void *bytes, int size, sqlite3_int64 at)
{
    enter();
    const int result = attempt(SHIM_WRITE);
    const uint32_t done = result == SQLITE_OK ? (uint32_t)size : (uint32_t)size / 2;
    disk_write(of(base)->file, (uint64_t)at, done, bytes);
    return leave(result);
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    enter();
    const int result = attempt(SHIM_TRUNCATE);
    if (result == SQLITE_OK)
        disk_truncate(of(base)->file, (uint64_t)size);
    return leave(result);
}

static void look(void)
{
    if (shim.watch)
        shim.watch(shim.watch_context, shim.disk);
}

static void sync_file(struct handle *h)
{
    disk_sync(h->file);
    if (h->syncs_folder)
        disk_sync_folder(shim.disk);
    h->syncs_folder = false;
}

static int file_sync(sqlite3_file *base, int flags)
{
    (void)flags;
    enter();
    look();
    const int result = attempt(SHIM_SYNC);
    if (result == SQLITE_OK)
        sync_file(of(base));
    else
        disk_sync_fail(of(base)->file, &shim.chance);
    look();
    return leave(result);
}

static int file_size(sqlite3_file *base, sqlite3_int64 *out_size)
{
    enter();
    const int result = attempt(SHIM_SIZE);
    if (result == SQLITE_OK)
        *out_size = (sqlite3_int64)of(base)->file->now.size;
    return leave(result);
}

/* ---- locks ---- */

static int file_lock(sqlite3_file *base, int level)
{
    enter();
    const int result = attempt(SHIM_LOCK);
    if (result != SQLITE_OK)
        return leave(result);
    return leave(vfs_lock(locks_of(base), &of(base)->holder, level));
}

static int file_unlock(sqlite3_file *base, int level)
{
    enter();
    vfs_unlock(locks_of(base), &of(base)->holder, level);
    return leave(SQLITE_OK);
}

static int file_check_reserved(sqlite3_file *base, int *out_reserved)
{
    enter();
    *out_reserved = locks_of(base)->reserved != NULL;
    return leave(SQLITE_OK);
}

/* ---- the memory of a write-ahead log ---- */

static int shm_map(sqlite3_file *base, int region, int size, int extend, void volatile **out)
{
    enter();
    *out = NULL;
    const int result = attempt(SHIM_MAP);
    if (result == SQLITE_OK)
        *out = vfs_region(locks_of(base), region, size, extend);
    return leave(result);
}

static int shm_lock(sqlite3_file *base, int first, int count, int flags)
{
    enter();
    return leave(vfs_slots(locks_of(base), &of(base)->holder, first, count, flags));
}

static void shm_barrier(sqlite3_file *base)
{
    (void)base;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static int shm_unmap(sqlite3_file *base, int remove)
{
    (void)remove; /* the memory goes with the last handle */
    enter();
    vfs_slots_release(locks_of(base), &of(base)->holder);
    return leave(SQLITE_OK);
}

/* ---- files ---- */

static int file_close(sqlite3_file *base)
{
    struct handle *h = of(base);
    enter();
    vfs_slots_release(locks_of(base), &h->holder);
    vfs_unlock(locks_of(base), &h->holder, SQLITE_LOCK_NONE);
    shim.open--;
    if (--h->file->users == 0) {
        vfs_locks_free(h->file->locks);
        h->file->locks = NULL;
    }
    disk_sweep(shim.disk);
    return leave(SQLITE_OK);
}

static int file_control(sqlite3_file *base, int op, void *argument)
{
    (void)base;
    (void)op;
    (void)argument;
    return SQLITE_NOTFOUND;
}

static int sector_size(sqlite3_file *base)
{
    (void)base;
    return SECTOR;
}

/* As on every system SQLite knows: bytes beside those being written are safe. */
static int device_characteristics(sqlite3_file *base)
{
    (void)base;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_reserved,
    .xFileControl = file_control,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = device_characteristics,
    .xShmMap = shm_map,
    .xShmLock = shm_lock,
    .xShmBarrier = shm_barrier,
    .xShmUnmap = shm_unmap,
};

static struct disk_file *find_or_create(const char *name, int flags)
{
    struct disk_file *f = name ? disk_find(shim.disk, name) : NULL;
    return f || !(flags & SQLITE_OPEN_CREATE) ? f : disk_create(shim.disk, name);
}

/* As the system's own VFS does it: for each journal that may be new. */
static bool syncs_folder(int flags)
{
    return (flags & SQLITE_OPEN_CREATE) && (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL));
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags,
                    int *out_flags)
{
    (void)vfs;
    base->pMethods = NULL;
    enter();
    const int result = attempt(SHIM_OPEN);
    struct disk_file *f = result == SQLITE_OK ? find_or_create(name, flags) : NULL;
    if (!f)
        return leave(result == SQLITE_OK ? SQLITE_CANTOPEN : result);
    if (!f->locks)
        f->locks = vfs_locks_new();
    f->users++;
    shim.open++;
    *of(base) = (struct handle){
        .base = {.pMethods = &methods},
        .file = f,
        .syncs_folder = syncs_folder(flags),
    };
    if (out_flags)
        *out_flags = flags;
    if (flags & SQLITE_OPEN_DELETEONCLOSE)
        disk_remove(f);
    return leave(SQLITE_OK);
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int synced)
{
    (void)vfs;
    enter();
    const int result = attempt(SHIM_DELETE);
    if (result != SQLITE_OK)
        return leave(result);
    struct disk_file *f = disk_find(shim.disk, name);
    if (!f)
        return leave(SQLITE_IOERR_DELETE_NOENT);
    disk_remove(f);
    if (synced)
        disk_sync_folder(shim.disk);
    disk_sweep(shim.disk);
    return leave(SQLITE_OK);
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *out_there)
{
    (void)vfs;
    enter();
    const int result = attempt(SHIM_ACCESS);
    const struct disk_file *f = disk_find(shim.disk, name);
    if (result == SQLITE_OK)
        *out_there = f && (flags != SQLITE_ACCESS_EXISTS || f->now.size > 0);
    return leave(result);
}

static int vfs_full_name(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
    (void)vfs;
    sqlite3_snprintf(size, out, "%s", name);
    return SQLITE_OK;
}

static int vfs_randomness(sqlite3_vfs *vfs, int size, char *out)
{
    (void)vfs;
    return shim.system->xRandomness(shim.system, size, out);
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds)
{
    (void)vfs;
    return shim.system->xSleep(shim.system, microseconds);
}

static int vfs_time(sqlite3_vfs *vfs, double *out)
{
    (void)vfs;
    return shim.system->xCurrentTime(shim.system, out);
}

static int vfs_last_error(sqlite3_vfs *vfs, int size, char *out)
{
    (void)vfs;
    (void)size;
    (void)out;
    return 0;
}

static sqlite3_vfs vfs = {
    .iVersion = 1,
    .szOsFile = sizeof(struct handle),
    .mxPathname = NAME_MAX_LEN,
    .zName = "halligan-shim",
    .xOpen = vfs_open,
    .xDelete = vfs_delete,
    .xAccess = vfs_access,
    .xFullPathname = vfs_full_name,
    .xRandomness = vfs_randomness,
    .xSleep = vfs_sleep,
    .xCurrentTime = vfs_time,
    .xGetLastError = vfs_last_error,
};

/* ---- switches ---- */

void shim_install(void)
{
    shim.system = sqlite3_vfs_find(NULL);
    must(shim.system && shim.system != &vfs);
    shim.disk = disk_new();
    must(sqlite3_vfs_register(&vfs, 1) == SQLITE_OK);
}

void shim_uninstall(void)
{
    must(sqlite3_vfs_unregister(&vfs) == SQLITE_OK);
    must(sqlite3_vfs_register(shim.system, 1) == SQLITE_OK);
    must(shim.open == 0);
    disk_free(shim.disk);
    shim.disk = NULL;
}

void shim_use(struct disk *disk)
{
    enter();
    must(shim.open == 0);
    disk_free(shim.disk);
    shim.disk = disk;
    leave(SQLITE_OK);
}

void shim_reset(void)
{
    shim_use(disk_new());
    enter();
    memset(shim.counts, 0, sizeof shim.counts);
    shim.fail_in = shim.fill_in = 0;
    shim.failing = shim.full = shim.failed = shim.sync_failed = false;
    shim.watch = NULL;
    prng_init(&shim.chance, 1);
    leave(SQLITE_OK);
}

void shim_fail(enum shim_op op, uint64_t nth, bool lasting)
{
    enter();
    shim.which = op;
    shim.fail_in = nth;
    shim.lasting = lasting;
    leave(SQLITE_OK);
}

void shim_fill(uint64_t nth)
{
    enter();
    shim.fill_in = nth;
    leave(SQLITE_OK);
}

bool shim_mend(enum shim_op *out_first)
{
    enter();
    const bool failed = shim.failed;
    if (failed)
        *out_first = shim.first_failed;
    shim.fail_in = shim.fill_in = 0;
    shim.failing = shim.full = shim.failed = false;
    leave(SQLITE_OK);
    return failed;
}

bool shim_sync_failed(void)
{
    enter();
    const bool failed = shim.sync_failed;
    leave(SQLITE_OK);
    return failed;
}

uint64_t shim_count(enum shim_op op)
{
    enter();
    const uint64_t count = shim.counts[op];
    leave(SQLITE_OK);
    return count;
}

void shim_watch(void (*watch)(void *context, const struct disk *disk), void *context)
{
    enter();
    shim.watch = watch;
    shim.watch_context = context;
    leave(SQLITE_OK);
}

void shim_crash(uint64_t seed)
{
    struct prng r;
    prng_init(&r, seed);
    enter();
    must(shim.open == 0);
    disk_crash(shim.disk, &r);
    leave(SQLITE_OK);
}
