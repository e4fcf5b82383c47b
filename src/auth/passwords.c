/* passwords.c - a thread that hashes and verifies passwords with argon2id.
 *
 * It owns the thread, the two queues of jobs and the cache of verified passwords. A job is created
 * in the thread of the loop, queued under the mutex, executed by the worker, and returned through
 * `done` and an async handle. Passwords are wiped as soon as they are hashed. For a user who does
 * not exist a decoy hash is verified, so that the time of the reply does not reveal which users
 * exist. The queue is bounded in total and for each address, so that one client cannot keep all
 * others from logging in.
 *
 * Orders that matter: the cache is checked before a job is created, because a hit needs no thread.
 * The slot of a job is released before its callback, because the callback may submit another one.
 * passwords_free() joins the thread before it drops the queues, which the thread uses.
 *
 * Failure: without a slot or memory a job is refused (ERR_LIMIT). If argon2id gets no memory, a
 * hash is reported as NULL, and a verification like a wrong password. Jobs that are pending in
 * passwords_free() are dropped without a callback.
 */
#include "auth/passwords.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "auth/password_cache.h"

_Static_assert(PASSWORD_HASH_MAX == crypto_pwhash_STRBYTES, "libsodium writes that many");

enum { ADDRESS_SIZE = 16 };

/* One password to hash or to verify. It belongs to the thread of the loop, then to the worker, then
 * to the loop again. */
struct job {
    struct job *next;
    passwords_checked_fn *checked; /* either this or `hashed` is set */
    passwords_hashed_fn *hashed;
    void *context;
    uint32_t slot; /* index in passwords.slots */
    struct password_digest digest;
    bool is_decoy; /* there is no usable stored hash                     */
    bool is_right; /* result: the password is right, or the hash is made */
    char hash[PASSWORD_HASH_MAX];
    uint32_t password_len;
    char password[];
};

struct job_list {
    struct job *first;
    struct job **end;
};

struct passwords {
    uv_thread_t worker;
    uv_async_t async;
    /* Addresses of the unanswered jobs; used by the thread of the loop only. */
    struct {
        bool is_taken;
        uint8_t address[ADDRESS_SIZE];
    } slots[PASSWORDS_QUEUE_MAX];
    struct password_cache cache;
    uv_mutex_t mutex; /* guards what follows */
    uv_cond_t more;
    bool is_stopping;
    struct job_list waiting;
    struct job_list done;
};

static void password_jobs_init(struct job_list *list)
{
    list->first = NULL;
    list->end = &list->first;
}

static void password_jobs_add(struct job_list *list, struct job *job)
{
    job->next = NULL;
    *list->end = job;
    list->end = &job->next;
}

static struct job *password_jobs_take(struct job_list *list)
{
    struct job *job = list->first;
    if (job) {
        list->first = job->next;
        if (!list->first)
            list->end = &list->first;
    }
    return job;
}

static void password_job_free(struct job *job)
{
    sodium_memzero(job, sizeof *job + job->password_len);
    free(job);
}

/* --- worker thread ----------------------------------------------------------------------------*/

static bool password_hash_text(const char *text, uint32_t len, char out_hash[PASSWORD_HASH_MAX])
{
    return crypto_pwhash_str(out_hash, text ? text : "", len, crypto_pwhash_OPSLIMIT_INTERACTIVE,
                             crypto_pwhash_MEMLIMIT_INTERACTIVE) == 0;
}

static void password_job_execute(struct job *job, const char *decoy)
{
    if (job->hashed) {
        job->is_right = password_hash_text(job->password, job->password_len, job->hash);
    } else {
        const char *hash = job->is_decoy ? decoy : job->hash;
        const bool fits = crypto_pwhash_str_verify(hash, job->password, job->password_len) == 0;
        job->is_right = fits && !job->is_decoy;
    }
    sodium_memzero(job->password, job->password_len);
}

/* Wait for a job. NULL: the thread is to end. */
static struct job *passwords_next_job(struct passwords *p)
{
    uv_mutex_lock(&p->mutex);
    while (!p->is_stopping && !p->waiting.first)
        uv_cond_wait(&p->more, &p->mutex);
    struct job *job = p->is_stopping ? NULL : password_jobs_take(&p->waiting);
    uv_mutex_unlock(&p->mutex);
    return job;
}

static void passwords_thread_main(void *self)
{
    struct passwords *p = self;
    /* The hash of a random text, verified for users who do not exist. The result is ignored; only
     * the time that it takes matters. */
    char decoy[PASSWORD_HASH_MAX] = "";
    char text[32];
    randombytes_buf(text, sizeof text);
    ignore(password_hash_text(text, sizeof text, decoy),
           "without it only the timing reveals that a user does not exist");
    for (struct job *job = passwords_next_job(p); job; job = passwords_next_job(p)) {
        password_job_execute(job, decoy);
        uv_mutex_lock(&p->mutex);
        password_jobs_add(&p->done, job);
        uv_mutex_unlock(&p->mutex);
        ignore(uv_async_send(&p->async), "it cannot fail before it is closed");
    }
}

/* --- thread of the loop -----------------------------------------------------------------------*/

static uint64_t passwords_now_ms(void)
{
    return uv_hrtime() / 1000000;
}

static struct job *passwords_take_done(struct passwords *p)
{
    uv_mutex_lock(&p->mutex);
    struct job *job = password_jobs_take(&p->done);
    uv_mutex_unlock(&p->mutex);
    return job;
}

/* A callback may submit another job, or call passwords_free(), which empties the list. */
static void passwords_on_done(uv_async_t *async)
{
    struct passwords *p = async->data;
    for (struct job *job = passwords_take_done(p); job; job = passwords_take_done(p)) {
        p->slots[job->slot].is_taken = false;
        if (job->hashed) {
            job->hashed(job->context, job->is_right ? job->hash : NULL);
        } else {
            if (job->is_right)
                password_cache_add(&p->cache, &job->digest, passwords_now_ms());
            job->checked(job->context, job->is_right);
        }
        password_job_free(job);
    }
}

static bool passwords_start_thread(struct passwords *p)
{
    if (uv_mutex_init(&p->mutex) != 0)
        return false;
    if (uv_cond_init(&p->more) != 0)
        goto no_cond;
    if (uv_thread_create(&p->worker, passwords_thread_main, p) != 0)
        goto no_thread;
    return true;
no_thread:
    uv_cond_destroy(&p->more);
no_cond:
    uv_mutex_destroy(&p->mutex);
    return false;
}

static void passwords_on_closed_unstarted(uv_handle_t *handle)
{
    struct passwords *p = handle->data;
    password_cache_fini(&p->cache);
    free(p);
}

static void passwords_on_closed(uv_handle_t *handle)
{
    struct passwords *p = handle->data;
    uv_cond_destroy(&p->more);
    uv_mutex_destroy(&p->mutex);
    passwords_on_closed_unstarted(handle);
}

struct passwords *passwords_new(uv_loop_t *loop)
{
    if (sodium_init() < 0)
        return NULL;
    struct passwords *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    password_jobs_init(&p->waiting);
    password_jobs_init(&p->done);
    password_cache_init(&p->cache);
    if (uv_async_init(loop, &p->async, passwords_on_done) != 0) {
        free(p);
        return NULL;
    }
    p->async.data = p;
    if (!passwords_start_thread(p)) {
        uv_close((uv_handle_t *)&p->async, passwords_on_closed_unstarted);
        return NULL;
    }
    return p;
}

static void passwords_drop_all(struct job_list *list)
{
    for (struct job *job = password_jobs_take(list); job; job = password_jobs_take(list))
        password_job_free(job);
}

void passwords_free(struct passwords *p)
{
    if (!p)
        return;
    uv_mutex_lock(&p->mutex);
    p->is_stopping = true;
    uv_cond_signal(&p->more);
    uv_mutex_unlock(&p->mutex);
    must(uv_thread_join(&p->worker) == 0);
    passwords_drop_all(&p->waiting);
    passwords_drop_all(&p->done);
    uv_close((uv_handle_t *)&p->async, passwords_on_closed);
}

/* A free slot; PASSWORDS_QUEUE_MAX if there is none or the address has its share already. */
static uint32_t passwords_find_slot(const struct passwords *p, const uint8_t *address)
{
    uint32_t found = PASSWORDS_QUEUE_MAX, held = 0;
    for (uint32_t i = 0; i < PASSWORDS_QUEUE_MAX; i++) {
        if (!p->slots[i].is_taken)
            found = i;
        else if (memcmp(p->slots[i].address, address, ADDRESS_SIZE) == 0)
            held++;
    }
    return held < PASSWORDS_SHARE_MAX ? found : PASSWORDS_QUEUE_MAX;
}

/* NULL: the queue or the share of the address is full, or there is no memory. */
static struct job *password_job_new(struct passwords *p, const uint8_t *address,
                                    struct str password, void *context)
{
    const uint32_t slot = passwords_find_slot(p, address);
    struct job *job = slot < PASSWORDS_QUEUE_MAX ? calloc(1, sizeof *job + password.len) : NULL;
    if (!job)
        return NULL;
    p->slots[slot].is_taken = true;
    memcpy(p->slots[slot].address, address, ADDRESS_SIZE);
    job->slot = slot;
    job->context = context;
    job->password_len = password.len;
    if (password.len)
        memcpy(job->password, password.at, password.len);
    return job;
}

static void passwords_submit(struct passwords *p, struct job *job)
{
    uv_mutex_lock(&p->mutex);
    password_jobs_add(&p->waiting, job);
    uv_cond_signal(&p->more);
    uv_mutex_unlock(&p->mutex);
}

/* A stored text that is not an argon2 hash is treated like a missing user, because libsodium would
 * reject it without spending the time of a verification. */
static bool password_hash_is_usable(struct str hash)
{
    return hash.len < PASSWORD_HASH_MAX && str_starts(hash, STR("$argon2")) &&
           str_find(hash, '\0', 0) == hash.len;
}

err passwords_check(struct passwords *p, const struct password_check *claim,
                    passwords_checked_fn *checked, void *context)
{
    const struct password_digest digest =
        password_cache_digest(&p->cache, claim->hash, claim->password);
    if (password_cache_has(&p->cache, &digest, passwords_now_ms())) {
        checked(context, true);
        return OK;
    }
    struct job *job = password_job_new(p, claim->address, claim->password, context);
    if (!job)
        return ERR_LIMIT;
    job->checked = checked;
    job->digest = digest;
    job->is_decoy = !password_hash_is_usable(claim->hash);
    if (!job->is_decoy)
        memcpy(job->hash, claim->hash.at, claim->hash.len);
    passwords_submit(p, job);
    return OK;
}

err passwords_hash(struct passwords *p, const uint8_t *address, struct str password,
                   passwords_hashed_fn *hashed, void *context)
{
    struct job *job = password_job_new(p, address, password, context);
    if (!job)
        return ERR_LIMIT;
    job->hashed = hashed;
    passwords_submit(p, job);
    return OK;
}

bool password_hash_now(struct str password, char out_hash[PASSWORD_HASH_MAX])
{
    char hash[PASSWORD_HASH_MAX];
    if (sodium_init() < 0 || !password_hash_text(password.at, password.len, hash))
        return false;
    memcpy(out_hash, hash, sizeof hash);
    return true;
}
