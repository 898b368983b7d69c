// throws.cpp -- exceptions of C++ through alq_limit_run: what is left is closed
// at once, resources are released, and the next task is as the first one
#include <aliquot/aliquot.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#define CHECK(e)                                                               \
    do {                                                                       \
        if (!(e)) {                                                            \
            std::fprintf(stderr, "throws.cpp:%d: %s\n", __LINE__, #e);         \
            std::exit(1);                                                      \
        }                                                                      \
    } while (0)

namespace {

alq_limits
limit_words(uint64_t words)
{
    alq_limits l = ALQ_LIMITS_NONE;

    l.words = words;
    return l;
}

/* ---- tasks ---- */

struct work {
    int depth;
    unsigned flags;
    int released, destroyed;
};

struct counts {
    int &n;
    ~counts() { n++; }
};

alq_status
throws(alq_domain *, void *)
{
    throw std::runtime_error("out of a task");
}

alq_status
makes(alq_domain *d, void *arg)
{
    for (uint64_t i = 0; i < *static_cast<uint64_t *>(arg); i++) {
        if (d == nullptr) {
            void *p = std::malloc(16);

            if (p == nullptr)
                return ALQ_ELIMIT;
            std::free(p);
        } else if (alq_alloc(d, 2, 0) == ALQ_NULL) {
            return alq_status_of(d);
        }
    }
    return ALQ_OK;
}

void
release(alq_domain *, void *arg)
{
    static_cast<work *>(arg)->released++;
}

alq_status
nothing(alq_domain *, void *)
{
    return ALQ_OK;
}

alq_status descend(alq_domain *d, void *arg);

alq_status
in_resource(alq_domain *d, void *arg)
{
    auto *w = static_cast<work *>(arg);
    alq_limits l = limit_words(1000000);

    l.flags = w->flags;
    l.time_ns = UINT64_C(3600000000000);
    l.live_words = 1000000;
    return alq_limit_run(d, &l, descend, arg, nullptr);
}

/* Frames, resources, clean-ups and destructors by turns. */
alq_status
descend(alq_domain *d, void *arg)
{
    auto *w = static_cast<work *>(arg);
    counts c{w->destroyed};

    if (w->depth-- == 0)
        throw std::runtime_error(std::string(100, 'x'));
    ALQ_SCOPE_CLEANUP(d, cleanup, release, arg);
    return alq_with_resource(d, nothing, in_resource, release, arg);
}

/* ---- checks ---- */

void
all_is_well(alq_domain *d)
{
    uint64_t n = 100, more = 101;
    alq_limits l = limit_words(300);
    alq_outcome out;

    CHECK(alq_limit_run(d, nullptr, makes, &more, &out) == ALQ_OK);
    CHECK(out.words == 303);
    CHECK(alq_limit_run(d, &l, makes, &n, &out) == ALQ_OK);
    CHECK(alq_limit_run(d, &l, makes, &more, &out) == ALQ_ELIMIT);
    CHECK(out.words == 300);
    CHECK(!alq_is_interrupted(d));
    CHECK(!alq_is_masked(d));
    CHECK(makes(d, &more) == ALQ_OK);
}

void
leave_one(alq_domain *d, unsigned flags)
{
    alq_limits l = limit_words(100000);

    l.flags = flags;
    try {
        (void)!alq_limit_run(d, &l, throws, nullptr, nullptr);
        CHECK(!"it throws");
    } catch (const std::runtime_error &e) {
        CHECK(e.what() == std::string("out of a task"));
    }
    all_is_well(d);
}

void
leave_many(alq_domain *d, unsigned flags)
{
    for (int depth = 0; depth < 12; depth++) {
        work w = {depth, flags, 0, 0};

        try {
            (void)descend(d, &w);
            CHECK(!"it throws");
        } catch (const std::runtime_error &e) {
            CHECK(std::string(e.what()).size() == 100);
        }
        CHECK(w.released == 2 * depth);
        CHECK(w.destroyed == depth + 1);
        all_is_well(d);
    }
}

/* An exception that stays within the task. */
alq_status
catches(alq_domain *d, void *arg)
{
    work w = {5, 0, 0, 0};
    uint64_t n = 100;

    (void)arg;
    try {
        (void)descend(d, &w);
    } catch (const std::runtime_error &) {
        n++;
    }
    CHECK(w.released == 10);
    return makes(d, &n);
}

void
task_goes_on(alq_domain *d)
{
    alq_limits l = limit_words(303);
    alq_outcome out;

    if (d == nullptr)
        return; /* what is thrown is malloc's */
    CHECK(alq_limit_run(d, &l, catches, nullptr, &out) == ALQ_OK);
    l = limit_words(302);
    CHECK(alq_limit_run(d, &l, catches, nullptr, &out) == ALQ_ELIMIT);
    CHECK(out.words == 300);
    all_is_well(d);
}

/* ---- both heaps ---- */

alq_status
throws_within(alq_domain *, void *arg)
{
    return alq_limit_run(static_cast<alq_domain *>(arg), nullptr, throws,
                         nullptr, nullptr);
}

/* The frame of one heap within one of the other. */
void
leave_both(alq_domain *d)
{
    try {
        (void)!alq_limit_run(nullptr, nullptr, throws_within, d, nullptr);
        CHECK(!"it throws");
    } catch (const std::runtime_error &) {
    }
    try {
        (void)!alq_limit_run(d, nullptr, throws_within, nullptr, nullptr);
        CHECK(!"it throws");
    } catch (const std::runtime_error &) {
    }
    all_is_well(d);
    all_is_well(nullptr);
}

void
leave_all(alq_domain *d)
{
    for (unsigned flags : {0u, unsigned{ALQ_LIMIT_UNWINDS}}) {
        leave_one(d, flags);
        leave_many(d, flags);
    }
    task_goes_on(d);
}

} // namespace

int
main()
{
    bool has_preload =
        alq_limit_run(nullptr, nullptr, nothing, nullptr, nullptr) == ALQ_OK;

    auto on_heap = [has_preload] {
        alq_domain *d;

        CHECK(alq_domain_new(nullptr, &d) == ALQ_OK);
        leave_all(d);
        if (has_preload)
            leave_both(d);
        CHECK(alq_domain_drop(d) == ALQ_OK);
    };
    on_heap();
    std::thread(on_heap).join();
    if (has_preload) {
        leave_all(nullptr);
        std::thread([] { leave_all(nullptr); }).join();
    }
    std::puts(has_preload ? "both heaps" : "one heap");
    return 0;
}
