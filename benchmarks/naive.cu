// The benchmarks of gpu.py as CUDA C++ is usually written: one element a thread.  Prints seconds (and cycles) as JSON.
#include <cub/cub.cuh>

#include <algorithm>
#include <cstdio>
#include <vector>

#define CHECK(call)                                                                  \
    do {                                                                             \
        cudaError_t error = (call);                                                  \
        if (error != cudaSuccess) {                                                  \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));           \
            exit(1);                                                                 \
        }                                                                            \
    } while (0)

constexpr unsigned ALL = 0xffffffffu;

__global__ void fill(float *x, int *v, size_t n) {
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i < n) {
        unsigned h = unsigned(i) * 2654435761u;
        x[i] = (h >> 8) * 0x1p-24f;
        v[i] = int(h >> 16);
    }
}

__global__ void reduce_add(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? x[i] : 0.0f;
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(ALL, v, d);
    if (threadIdx.x % 32 == 0 && i < n) out[i / 32] = v;
}

__global__ void inclusive_add(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    float v = i < n ? x[i] : 0.0f;
    for (int d = 1; d < 32; d *= 2) {
        float below = __shfl_up_sync(ALL, v, d);
        if (lane >= d) v += below;
    }
    if (i < n) out[i] = v;
}

__global__ void sort_pairs(const float *keys, const int *values, float *keys_out, int *values_out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    float k = i < n ? keys[i] : INFINITY;
    int v = i < n ? values[i] : 0x7fffffff;
    for (int run = 2; run <= 32; run *= 2)
        for (int d = run / 2; d; d /= 2) {
            float ok = __shfl_xor_sync(ALL, k, d);
            int ov = __shfl_xor_sync(ALL, v, d);
            bool keeps_small = ((lane & d) == 0) == ((lane & run & 31) == 0);
            bool other_less = ok < k || (ok == k && ov < v), mine_less = k < ok || (k == ok && v < ov);
            if (keeps_small ? other_less : mine_less) k = ok, v = ov;
        }
    if (i < n) keys_out[i] = k, values_out[i] = v;
}

template <int OP> __global__ void cycles(int *out, long long *taken, int rounds) {
    int v = out[threadIdx.x];
    long long start = clock64();
#pragma unroll 8
    for (int r = 0; r < rounds; ++r) {
        if (OP == 0) v += int(__reduce_add_sync(ALL, unsigned(v)));
        if (OP == 1) v += __reduce_max_sync(ALL, v);
        if (OP == 2) v += int(__match_any_sync(ALL, v));
        if (OP == 3) v += int(__ballot_sync(ALL, v > r));
    }
    taken[threadIdx.x] = clock64() - start;
    out[threadIdx.x] = v;
}

constexpr int RUNS = 15;

template <class F> double seconds(F launch) {
    std::vector<float> times;
    cudaEvent_t marks[RUNS + 1];
    for (auto &mark : marks) CHECK(cudaEventCreate(&mark));
    for (int run = 0; run < 3; ++run) launch();
    for (int run = 0; run < RUNS; ++run) {
        CHECK(cudaEventRecord(marks[run]));
        launch();
    }
    CHECK(cudaEventRecord(marks[RUNS]));
    CHECK(cudaEventSynchronize(marks[RUNS]));
    for (int run = 0; run < RUNS; ++run) {
        float milliseconds;
        CHECK(cudaEventElapsedTime(&milliseconds, marks[run], marks[run + 1]));
        times.push_back(milliseconds);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2] * 1e-3;
}

template <int OP> double cycles_of(int *out, long long *taken) {
    constexpr int ROUNDS = 1024;
    long long found;
    for (int run = 0; run < 3; ++run) cycles<OP><<<1, 32>>>(out, taken, ROUNDS);
    CHECK(cudaMemcpy(&found, taken, sizeof found, cudaMemcpyDeviceToHost));
    return double(found) / ROUNDS;
}

int main(int argc, char **argv) {
    const int n = atoi(argv[1]), pairs = atoi(argv[2]), block = 256;
    float *x, *out;
    int *v, *vout;
    long long *taken;
    CHECK(cudaMalloc(&x, n * sizeof(float)));
    CHECK(cudaMalloc(&out, n * sizeof(float)));
    CHECK(cudaMalloc(&v, n * sizeof(int)));
    CHECK(cudaMalloc(&vout, n * sizeof(int)));
    CHECK(cudaMalloc(&taken, 32 * sizeof(long long)));
    int blocks = (n + block - 1) / block;
    fill<<<blocks, block>>>(x, v, n);
    void *room = nullptr;
    size_t bytes = 0;
    CHECK(cub::DeviceReduce::Sum(room, bytes, x, out, n));
    CHECK(cudaMalloc(&room, bytes));
    printf("{\"copy\": %g", seconds([&] { CHECK(cudaMemcpyAsync(out, x, n * sizeof(float), cudaMemcpyDeviceToDevice)); }));
    printf(", \"reduce_add\": %g", seconds([&] { reduce_add<<<blocks, block>>>(x, out, n); }));
    printf(", \"inclusive_add\": %g", seconds([&] { inclusive_add<<<blocks, block>>>(x, out, n); }));
    printf(", \"bitonic_sort_kv\": %g",
           seconds([&] { sort_pairs<<<(pairs + block - 1) / block, block>>>(x, v, out, vout, pairs); }));
    printf(", \"cub_sum\": %g", seconds([&] { CHECK(cub::DeviceReduce::Sum(room, bytes, x, out, n)); }));
    printf(", \"cycles\": {\"reduce_all_add\": %g, \"reduce_all_max\": %g, \"match_any\": %g, \"ballot\": %g}}\n",
           cycles_of<0>(v, taken), cycles_of<1>(v, taken), cycles_of<2>(v, taken), cycles_of<3>(v, taken));
    CHECK(cudaDeviceSynchronize());
}
