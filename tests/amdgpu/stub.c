/* A library with HIP's functions for machines without an AMD GPU.
 *
 * Device memory is host memory.  Every call is recorded with its arguments, and fails where the test says so.  Loading
 * code and running a kernel are the test's: it gives two functions for them.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_CONFIGURATION = 9, NO_DEVICE = 100,
       INVALID_DEVICE = 101, INVALID_IMAGE = 200, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600 };
enum { MAX_CALLS = 1 << 16, MAX_ARGUMENTS = 12, MAX_FAILING = 8, MAX_ALLOCATIONS = 1 << 12 };
static const size_t MEMORY = (size_t)1 << 30, ALIGNMENT = 256;

/* ---- what the test reads and sets ---- */
typedef struct {
    const char *name;
    int64_t device;
    int64_t count;
    int64_t arguments[MAX_ARGUMENTS];
} Call;

typedef struct {
    const char *name;
    int code;
} Name;

Call stub_calls[MAX_CALLS];
int64_t stub_call_count;
int stub_device_count = 1;
int stub_live;      /* allocations that were not given back */
int stub_last;      /* what hipGetLastError gives */
const char *stub_arch = "gfx942:sramecc+:xnack-";
int stub_warp_size = 64;
int (*stub_load)(const void *image);                                    /* 1 where it can be loaded */
int (*stub_find)(const void *image, const char *name);                  /* the kernel's number, -1 where there is none */
int (*stub_run)(int kernel, const unsigned *sizes, void *stream, const void *arguments, size_t bytes);

static struct { char name[64]; int code; } failing[MAX_FAILING];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int current;

void stub_fail(const char *name, int code) {
    for (int i = 0; i < MAX_FAILING; i++)
        if (!failing[i].name[0] || !strcmp(failing[i].name, name)) {
            strncpy(failing[i].name, name, sizeof failing[i].name - 1);
            failing[i].code = code;
            return;
        }
    abort();
}

void stub_reset(void) {
    memset(failing, 0, sizeof failing);
    stub_call_count = 0;
    stub_last = 0;
    stub_device_count = 1;
    current = 0;
}

static int begin(const char *name, int count, const int64_t *arguments) {
    int code = SUCCESS;
    pthread_mutex_lock(&lock);
    Call *call = &stub_calls[stub_call_count % MAX_CALLS];
    stub_call_count++;
    call->name = name;
    call->device = current;
    call->count = count;
    memcpy(call->arguments, arguments, count * sizeof *arguments);
    for (int i = 0; i < MAX_FAILING; i++)
        if (!strcmp(failing[i].name, name))
            code = failing[i].code;
    pthread_mutex_unlock(&lock);
    return code;
}

static int ended(int code) {
    if (code)
        stub_last = code;
    return code;
}

#define FAIL_IF(condition, code) do { if (condition) return ended(code); } while (0)
#define BEGIN(...) \
    do { \
        const int64_t recorded[] = {0, ##__VA_ARGS__}; \
        int scripted = begin(__func__, (int)(sizeof recorded / sizeof *recorded) - 1, recorded + 1); \
        FAIL_IF(scripted, scripted); \
    } while (0)
#define WORD(pointer) ((int64_t)(intptr_t)(pointer))

/* ---- the library and its devices ---- */
int hipInit(unsigned flags) {
    BEGIN(flags);
    FAIL_IF(flags, INVALID_VALUE);
    return SUCCESS;
}

int hipGetDeviceCount(int *count) {
    BEGIN(WORD(count));
    *count = stub_device_count;
    return ended(stub_device_count ? SUCCESS : NO_DEVICE);
}

int hipRuntimeGetVersion(int *version) {
    BEGIN(WORD(version));
    *version = 60443483;
    return SUCCESS;
}

/* hipDeviceProp_tR0600 by its offsets: 1472 bytes. */
int hipGetDevicePropertiesR0600(char *properties, int device) {
    BEGIN(WORD(properties), device);
    FAIL_IF(device < 0 || device >= stub_device_count, INVALID_DEVICE);
    memset(properties, 0xAA, 1472);
    strcpy(properties, "Stub Instinct");
    *(size_t *)(properties + 296) = 65536;                  /* sharedMemPerBlock */
    *(int *)(properties + 308) = stub_warp_size;            /* warpSize */
    *(int *)(properties + 320) = 1024;                      /* maxThreadsPerBlock */
    *(int *)(properties + 336) = 2147483647;                /* maxGridSize[0] */
    *(int *)(properties + 388) = 2;                         /* multiProcessorCount */
    strcpy(properties + 1160, stub_arch);                   /* gcnArchName */
    return SUCCESS;
}

int hipGetDevice(int *device) {
    BEGIN(WORD(device));
    *device = current;
    return SUCCESS;
}

int hipSetDevice(int device) {
    BEGIN(device);
    FAIL_IF(device < 0 || device >= stub_device_count, INVALID_DEVICE);
    current = device;
    return SUCCESS;
}

int hipDeviceSynchronize(void) {
    BEGIN();
    return SUCCESS;
}

int hipGetLastError(void) {
    BEGIN();
    int code = stub_last;
    stub_last = SUCCESS;
    return code;
}

const char *hipGetErrorName(int code) {
    static const Name names[] = {
        {"hipSuccess", SUCCESS}, {"hipErrorInvalidValue", INVALID_VALUE}, {"hipErrorOutOfMemory", OUT_OF_MEMORY},
        {"hipErrorInvalidConfiguration", INVALID_CONFIGURATION}, {"hipErrorNoDevice", NO_DEVICE},
        {"hipErrorInvalidDevice", INVALID_DEVICE}, {"hipErrorInvalidImage", INVALID_IMAGE},
        {"hipErrorInvalidHandle", INVALID_HANDLE}, {"hipErrorNotFound", NOT_FOUND}, {"hipErrorNotReady", NOT_READY},
        {"hipErrorNoBinaryForGpu", 209}, {"hipErrorIllegalAddress", 700}, {"hipErrorLaunchFailure", 719},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == code)
            return names[i].name;
    return "hipErrorUnknown";
}

/* ---- memory ---- */
static struct { void *address; int device; } allocations[MAX_ALLOCATIONS];

static int allocate(void **address, size_t size) {
    FAIL_IF(size > MEMORY, OUT_OF_MEMORY);
    FAIL_IF(!size, INVALID_VALUE);
    void *made = aligned_alloc(ALIGNMENT, (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    memset(made, 0xAA, size);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX_ALLOCATIONS; i++)
        if (!allocations[i].address) {
            allocations[i].address = made;
            allocations[i].device = current;
            break;
        }
    stub_live++;
    pthread_mutex_unlock(&lock);
    *address = made;
    return SUCCESS;
}

int hipMalloc(void **address, size_t size) {
    BEGIN(WORD(address), (int64_t)size);
    return allocate(address, size);
}

int hipHostMalloc(void **address, size_t size, unsigned flags) {
    BEGIN(WORD(address), (int64_t)size, flags);
    return allocate(address, size);
}

int hipFree(void *address) {
    BEGIN(WORD(address));
    int found = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX_ALLOCATIONS && !found; i++)
        if (address && allocations[i].address == address) {
            allocations[i].address = NULL;
            stub_live--;
            found = 1;
        }
    pthread_mutex_unlock(&lock);
    FAIL_IF(!found, INVALID_VALUE);
    free(address);
    return SUCCESS;
}

int hipMemset(void *address, int value, size_t size) {
    BEGIN(WORD(address), value, (int64_t)size);
    memset(address, value, size);
    return SUCCESS;
}

int hipMemcpyHtoDAsync(void *target, void *source, size_t size, void *stream) {
    BEGIN(WORD(target), WORD(source), (int64_t)size, WORD(stream));
    memcpy(target, source, size);
    return SUCCESS;
}

int hipMemcpyDtoHAsync(void *target, void *source, size_t size, void *stream) {
    BEGIN(WORD(target), WORD(source), (int64_t)size, WORD(stream));
    memcpy(target, source, size);
    return SUCCESS;
}

/* The address may lie within an allocation; of this library's memory nothing but the start is known. */
int hipPointerGetAttribute(void *data, int attribute, void *address) {
    BEGIN(WORD(data), attribute, WORD(address));
    FAIL_IF(attribute != 9, INVALID_VALUE); /* HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL */
    for (int i = 0; i < MAX_ALLOCATIONS; i++)
        if (address && allocations[i].address == address) {
            *(int *)data = allocations[i].device;
            return SUCCESS;
        }
    return ended(INVALID_VALUE);
}

/* ---- order ---- */
typedef struct {
    unsigned flags;
    int device, recorded;
    double time;
} Event;

int hipEventCreateWithFlags(Event **event, unsigned flags) {
    BEGIN(WORD(event), flags);
    FAIL_IF(flags & ~2u, INVALID_VALUE);
    *event = calloc(1, sizeof **event);
    (*event)->flags = flags;
    (*event)->device = current;
    return SUCCESS;
}

int hipEventRecord(Event *event, void *stream) {
    BEGIN(WORD(event), WORD(stream));
    FAIL_IF(!event || event->device != current, INVALID_HANDLE);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    event->time = now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
    event->recorded = 1;
    return SUCCESS;
}

int hipEventSynchronize(Event *event) {
    BEGIN(WORD(event));
    FAIL_IF(!event, INVALID_HANDLE);
    return SUCCESS;
}

int hipEventElapsedTime(float *milliseconds, Event *first, Event *last) {
    BEGIN(WORD(milliseconds), WORD(first), WORD(last));
    FAIL_IF(!first->recorded || !last->recorded || (first->flags | last->flags) & 2, INVALID_HANDLE);
    *milliseconds = (float)(last->time - first->time);
    return SUCCESS;
}

int hipEventDestroy(Event *event) {
    BEGIN(WORD(event));
    free(event);
    return SUCCESS;
}

int hipStreamSynchronize(void *stream) {
    BEGIN(WORD(stream));
    return SUCCESS;
}

/* ---- code ---- */
typedef struct {
    const void *image;
    int device;
} Module;

typedef struct {
    int kernel, device;
} Function;

int hipModuleLoadData(Module **module, const void *image) {
    BEGIN(WORD(module), WORD(image));
    FAIL_IF(!stub_load(image), INVALID_IMAGE);
    *module = malloc(sizeof **module);
    (*module)->image = image;
    (*module)->device = current;
    return SUCCESS;
}

int hipModuleGetFunction(Function **function, Module *module, const char *name) {
    BEGIN(WORD(function), WORD(module), WORD(name));
    int kernel = stub_find(module->image, name);
    FAIL_IF(kernel < 0, NOT_FOUND);
    *function = malloc(sizeof **function);
    (*function)->kernel = kernel;
    (*function)->device = module->device;
    return SUCCESS;
}

int hipModuleLaunchKernel(Function *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned shared, void *stream, void **parameters, void **extra) {
    BEGIN(WORD(function), gx, gy, gz, bx, by, bz, shared, WORD(stream), WORD(parameters), WORD(extra));
    FAIL_IF(!gx || !gy || !gz || !bx || !by || !bz, INVALID_CONFIGURATION);
    FAIL_IF((uint64_t)gx * bx > UINT32_MAX || (uint64_t)bx * by * bz > 1024, INVALID_CONFIGURATION);
    FAIL_IF(shared > 65536, INVALID_VALUE);
    FAIL_IF(function->device != current, INVALID_DEVICE);
    FAIL_IF(parameters || !extra, INVALID_VALUE);
    FAIL_IF(WORD(extra[0]) != 1 || WORD(extra[2]) != 2 || WORD(extra[4]) != 3, INVALID_VALUE);
    const unsigned sizes[] = {gx, gy, gz, bx, by, bz, shared};
    return ended(stub_run(function->kernel, sizes, stream, extra[1], *(size_t *)extra[3]));
}
