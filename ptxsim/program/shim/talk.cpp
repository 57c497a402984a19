// Sockets and shared memory: how this process and the simulator's reach each other.

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "talk.h"

namespace {

int channel = -1;
bool forked = false;
std::recursive_mutex one_question;

uint64_t arena, arena_bytes;  // the addresses of device memory,
char* window;                 // and the same bytes, where the host may touch them

void send_all(const void* from, size_t bytes) {
    const char* at = static_cast<const char*>(from);
    while (bytes) {
        ssize_t sent = send(channel, at, bytes, MSG_NOSIGNAL);
        if (sent <= 0) _exit(70);  // the simulator is gone
        at += sent;
        bytes -= sent;
    }
}

void receive_all(void* to, size_t bytes) {
    char* at = static_cast<char*>(to);
    while (bytes) {
        ssize_t got = recv(channel, at, bytes, 0);
        if (got <= 0) _exit(70);
        at += got;
        bytes -= got;
    }
}

bool in_arena(uint64_t address) { return address - arena < arena_bytes; }

// The host touches memory of the device: a GPU's memory is not there for it.
void touched(int number, siginfo_t* info, void*) {
    signal(number, SIG_DFL);
    if (in_arena(word(info->si_addr))) ask("touched", {word(info->si_addr)});
    raise(number);
}

int number_from(const char* name) {
    const char* text = getenv(name);
    if (!text) {
        fprintf(stderr, "this program was built for ptxsim: start it with `ptxsim run`\n");
        _exit(70);
    }
    return atoi(text);
}

void open_once() {
    if (channel >= 0) return;
    channel = number_from("PTXSIM_CHANNEL");
    int memory = number_from("PTXSIM_MEMORY");
    fcntl(channel, F_SETFD, FD_CLOEXEC);
    fcntl(memory, F_SETFD, FD_CLOEXEC);
    auto tell = [] { ask("forked", {}); };
    pthread_atfork(nullptr, tell, [] { forked = true; });
    Answer answer = ask("hello", {uint64_t(getpid()), CUDART_VERSION});
    arena = answer.numbers[0];
    arena_bytes = answer.numbers[1];
    int flags = MAP_SHARED | MAP_NORESERVE;
    void* got = mmap(reinterpret_cast<void*>(arena), arena_bytes, PROT_NONE, flags | MAP_FIXED_NOREPLACE, memory, 0);
    window = static_cast<char*>(mmap(nullptr, arena_bytes, PROT_READ | PROT_WRITE, flags, memory, 0));
    if (word(got) != arena || window == MAP_FAILED) {
        fprintf(stderr, "ptxsim: no room for the addresses of device memory: %s\n", strerror(errno));
        _exit(70);
    }
    struct sigaction action = {};
    action.sa_sigaction = touched;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
}

}  // namespace

Answer ask(const char* what, std::initializer_list<uint64_t> numbers, const void* data, size_t bytes) {
    if (forked) return {cudaErrorInitializationError, std::vector<uint64_t>(16), ""};
    std::lock_guard<std::recursive_mutex> lock(one_question);
    open_once();
    uint64_t head[3] = {strlen(what), numbers.size(), bytes};
    send_all(head, sizeof head);
    send_all(what, head[0]);
    send_all(numbers.begin(), numbers.size() * sizeof(uint64_t));
    send_all(data, bytes);
    receive_all(head, sizeof head);
    if (head[0] == ~uint64_t(0)) {  // told to end
        print_what_was_printed();
        fflush(nullptr);
        _exit(70);
    }
    Answer answer{cudaError_t(head[0]), std::vector<uint64_t>(head[1]), std::string(head[2], '\0')};
    receive_all(answer.numbers.data(), head[1] * sizeof(uint64_t));
    receive_all(&answer.data[0], head[2]);
    return answer;
}

char* reachable(const void* pointer) {
    uint64_t address = word(pointer);
    return in_arena(address) ? window + (address - arena) : static_cast<char*>(const_cast<void*>(pointer));
}

void open_to_host(void* at, size_t bytes, bool open) {
    if (!bytes) return;
    mprotect(at, bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

void give_back(void* at, size_t bytes) {
    if (bytes) madvise(reachable(at), bytes, MADV_REMOVE);
}

// From now on the simulator sees these pages of the host, too. They begin at byte `offset` of the memory that both share.
// What is kept meanwhile must lie elsewhere than on the heap: these may be pages of it, with what malloc knows.
bool share_pages(void* at, size_t bytes, uint64_t offset) {
    int memory = number_from("PTXSIM_MEMORY");
    void* kept = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (kept == MAP_FAILED) return false;
    memcpy(kept, at, bytes);
    bool shared = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory, offset) == at;
    if (shared) memcpy(at, kept, bytes);
    munmap(kept, bytes);
    return shared;
}
