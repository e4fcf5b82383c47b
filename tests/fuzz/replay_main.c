/* Goal: the stored inputs of a fuzz target pass, in a build without libFuzzer.
 * Method: runs the target on every file and on every file of every directory of the command line,
 * in the order of their names, so that a crash is reproducible. Prints the number of inputs; none
 * is a failure. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_SIZE_MAX = 16 * 1024 * 1024, PATH_SIZE = 4096 };

struct tally {
    size_t inputs;
    size_t bytes;
};

static void stop(const char *path, const char *what)
{
    fprintf(stderr, "\"%s\": %s\n", path, what);
    exit(1);
}

static void replay_file(const char *path, struct tally *tally)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        stop(path, strerror(errno));
    struct stat about;
    if (fstat(fileno(file), &about) != 0)
        stop(path, strerror(errno));
    if (about.st_size > INPUT_SIZE_MAX)
        stop(path, "too large for an input");

    /* A block of exactly this size, so that AddressSanitizer reports a read past its end. */
    const size_t size = (size_t)about.st_size;
    uint8_t *data = malloc(size ? size : 1);
    if (!data)
        stop(path, "no memory left");
    if (fread(data, 1, size, file) != size)
        stop(path, "could not be read to its end");
    fclose(file);

    /* The last name printed is the input that made the target fail. */
    if (getenv("REPLAY_NAMES"))
        fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    tally->inputs++;
    tally->bytes += size;
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Strings in plain byte order: alphasort() would follow the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void replay_directory(const char *path, struct tally *tally)
{
    struct dirent **entries = NULL;
    const int count = scandir(path, &entries, visible, by_name);
    if (count < 0)
        stop(path, strerror(errno));
    for (int i = 0; i < count; i++) {
        char name[PATH_SIZE];
        const int length = snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        if (length < 0 || (size_t)length >= sizeof name)
            stop(path, "a name in here is too long");
        replay_file(name, tally);
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    struct tally tally = {0};
    for (int i = 1; i < argc; i++) {
        struct stat about;
        if (stat(argv[i], &about) != 0)
            stop(argv[i], strerror(errno));
        if (S_ISDIR(about.st_mode))
            replay_directory(argv[i], &tally);
        else
            replay_file(argv[i], &tally);
    }
    printf("%zu inputs, %zu bytes\n", tally.inputs, tally.bytes);
    return tally.inputs ? 0 : 1;
}
