# Test what the Makefile builds; test/README.md describes the folders.

.PHONY: tests check check-fast check-oom check-io check-device check-mutations \
    check-kill check-train-models check-soak check-soak-training check-large check-leaks check-schedule \
    check-mutants check-fuzz check-sample check-all check-hosts check-reproducible \
    check-roots lint lines abi abi-baseline \
    asan tsan coverage fuzz \
    gpu resources

# ---------------------------------------------------------------- programs --

TEST_SOURCES := $(foreach folder,unit checkop conformance golden cuda,\
    $(wildcard test/$(folder)/*.c))
TEST_OBJECTS := $(TEST_SOURCES:%.c=$(BUILD)/obj/%.o)
ifeq ($(CUDA),1)
TEST_OBJECTS := $(TEST_OBJECTS:%/checkop/shared_memory.o=%/cuda/shared_memory.o)
endif
TESTS := $(BUILD)/test/exatrkx-tests
LDLIBS_CHECK = $(if $(DEPS),-L$(DEPS)/lib -lcheck -lsubunit -lrt,\
    $(shell pkg-config --libs check 2>/dev/null || echo -lcheck))
RPATH_LIB = -Wl,-rpath,$(abspath $(LIB))

# CPU emulation of CUDA: cuda/ compiled as C++ over a runtime of the CPU, with the
# suites of operators and of the device.
SHIM := test/cuda_shim
SHIM_TESTS := $(BUILD)/test/cuda-shim-tests
SHIM_CXX := $(if $(filter x86_64,$(shell uname -m)),$(shell command -v $(CXX)))
SHIM_SOURCES := $(wildcard cuda/backend/*.cu cuda/op/*.cu $(SHIM)/*.cpp) \
    test/cuda/shared_memory.cu
SHIM_OBJECTS := $(addprefix $(BUILD)/obj/shim/,$(addsuffix .o,$(SHIM_SOURCES))) \
    $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard $(SHIM)/*.c)) \
    $(filter-out %/shared_memory.o,$(filter $(BUILD)/obj/test/checkop/% \
    $(BUILD)/obj/test/cuda/test_cuda% %/cuda/device.o %/unit/main.o %/support.o \
    %/job.o %/train_bench.o %/rank_threads.o %/differential.o %/cylinders.o \
    %/io_models.o %/io_support.o,$(TEST_OBJECTS))) \
    $(filter-out %/cuda_absent.o $(BUILD)/obj/cuda/%,$(OBJECTS))
# The ranks of a group, over an emulation of NCCL.
SHIM_RANKS := $(DIST_OBJECTS) $(BUILD)/obj/dist/mpi_absent.o \
    $(BUILD)/obj/test/cuda/test_dist_nccl.o
# The same with every access of a kernel checked (test/cuda_shim/access.cpp).
SHIM_CHECKED := $(BUILD)/test/cuda-shim-checked
CHECKED_OBJECTS := $(patsubst $(BUILD)/obj/shim/cuda/%,\
    $(BUILD)/obj/checked/cuda/%,$(SHIM_OBJECTS))
# The library over it, for programs and Python.
SHIM_LIBRARY := $(BUILD)/test/device/libexatrkx.so.$(MAJOR)
SHIM_NCCL := $(patsubst %.c,$(BUILD)/obj/shim/%.o,$(wildcard cuda/dist/*.c))
SHIM_DIST := $(BUILD)/test/device/libexatrkx_dist.so.$(MAJOR)
CHECKED_FLAGS := -DETX_CUDA_GUARDED=1 -fsanitize=thread --param tsan-distinguish-volatile=1 \
    -fsanitize=alignment -fsanitize-undefined-trap-on-error

# Failing calls of malloc and of the operating system, in a program that defines
# these functions.
FAULTS := $(BUILD)/test/faults-tests
FAULTS_OBJECTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard test/faults/*.c)) \
    $(filter %/unit/main.o %/support.o %/io_support.o %/io_models.o \
    %/train_bench.o %/cylinders.o %/fit_events.o,$(TEST_OBJECTS))

# The unit tests with a pool of threads that is broken on purpose.
BROKEN_POOL := $(BUILD)/test/broken-pool
NETWORK_STEPS := $(BUILD)/test/network-steps
SOAK := $(BUILD)/test/soak
LARGE := $(BUILD)/test/large
# Tests for mpirun: one graph on several ranks; one that uses internals of the library.
PARTS := $(BUILD)/test/parts
# One rank over NCCL: the only program of a bundle that loads it.
NCCL_TESTS := $(BUILD)/test/nccl-tests
MPI_FAULTS := $(BUILD)/test/mpi-faults

tests: $(TESTS) $(FAULTS) $(NETWORK_STEPS) $(PARTS) \
    $(if $(filter 1,$(HAVE_MPI)),$(MPI_FAULTS)) $(if $(SHIM_CXX),$(SHIM_TESTS) $(SHIM_CHECKED) $(SHIM_LIBRARY) $(SHIM_DIST))

$(BUILD)/obj/test/%.o: test/%.c
	$(call compile,-Itest/unit -Itest/checkop)
$(BUILD)/obj/test/dist/mpi_faults.o: test/dist/mpi_faults.c
	$(call compile,$(MPI_CFLAGS))
$(BUILD)/obj/test/cuda/%.o: test/cuda/%.cu
	@mkdir -p $(@D) && echo "  nvcc  $@"
	@$(NVCC) $(CUDA_FLAGS) -Itest/checkop -Itest/unit -c $< -o $@
$(BUILD)/obj/shim/%.o: %
	$(call compile_shim)
$(BUILD)/obj/checked/%.o: %
	$(call compile_shim,$(CHECKED_FLAGS))
$(BUILD)/obj/shim/cuda/dist/%.o: cuda/dist/%.c
	$(call compile,-I$(SHIM))
# $(call compile_shim,flags): one object of the emulation from one source.
SHIM_COMPILE = $(filter ccache,$(CC)) $(CXX) -x c++ -std=c++17 -O2 -g \
    -fPIC -ffp-contract=off -fno-strict-aliasing -Wall -Wextra $(WERROR_FLAG) \
    $(filter-out $(COVERAGE),$(SANITIZE)) -I$(SHIM)
compile_shim = @mkdir -p $(@D) && echo "  c++   $@" && $(SHIM_COMPILE) $(1) \
    -I. -Iinclude -Isrc -Itest/checkop -Itest/unit -MMD -MP -c $< -o $@

# Modules of the programs that tests call.
TESTS_PARTS := $(TEST_OBJECTS) $(BUILD)/obj/examples/cores.o \
    $(BUILD)/obj/examples/energy.o $(DIST_STATIC) $(STATIC)
TESTS_LDLIBS = $(LDLIBS_LIB) $(NCCL_LDLIBS) $(LDLIBS_CHECK)
$(TESTS): $(TESTS_PARTS)
	$(call link,$(TESTS_LDLIBS))
# A later failure replaces an earlier one: wrong in an unlucky order alone.
$(BROKEN_POOL:$(BUILD)/test/%=$(BUILD)/gen/%.c): src/base/threads.c
	@mkdir -p $(@D) && sed 's/block < atomic_load(&job->failed)/block >= 0/' \
	    $< > $@ && ! cmp -s $< $@
$(BROKEN_POOL): $(BROKEN_POOL:$(BUILD)/test/%=$(BUILD)/obj/gen/%.o) $(TESTS_PARTS)
	$(call link,$(TESTS_LDLIBS))
FAULTS_PARTS := $(FAULTS_OBJECTS) $(DIST_STATIC) $(STATIC)
FAULTS_LDLIBS = -Wl$(comma)--wrap=etx_arena_alloc \
    -Wl$(comma)--wrap=etx_check_cancelled \
    -Wl$(comma)--wrap=etx_cancel_poll $(TESTS_LDLIBS) -ldl
$(FAULTS): $(FAULTS_PARTS)
	$(call link,$(FAULTS_LDLIBS))
$(SHIM_TESTS) $(SHIM_CHECKED) $(SHIM_LIBRARY): private LINKER := $(CXX)
$(SHIM_LIBRARY): $(filter-out $(BUILD)/obj/test/% %/shared_memory.cu.o,\
    $(SHIM_OBJECTS)) $(GLIBC_NAMES:%=$(BUILD)/obj/lib/%.o)
	@mkdir -p $(@D)
	@sed 's/local:/cuda*; nccl*; local:/' lib/exatrkx.map >$@.map
	$(call link,$(LDFLAGS_LIB:%lib/exatrkx.map=%$@.map) $(LDLIBS_LIB))
$(SHIM_DIST): $(DIST_OBJECTS) $(DIST_MPI) $(SHIM_NCCL) $(SHIM_LIBRARY) \
    $(BUILD)/gen/mpi-$(HAVE_MPI)
	$(call link,$(LDFLAGS_DIST) $(SHIM_LIBRARY) $(MPI_LDLIBS) -lpthread -lm)
$(SHIM_TESTS): $(SHIM_OBJECTS) $(SHIM_RANKS) $(SHIM_NCCL)
$(SHIM_CHECKED): $(CHECKED_OBJECTS) $(SHIM_RANKS) $(SHIM_NCCL)
$(SHIM_TESTS) $(SHIM_CHECKED):
	$(call link,-no-pie -lz -lpthread -lm $(LDLIBS_CHECK))
$(NETWORK_STEPS): $(BUILD)/obj/test/parity/network_steps.o
$(LARGE): $(BUILD)/obj/test/soak/large.o
$(NETWORK_STEPS) $(LARGE): $(STATIC)
	$(call link,$(LDLIBS_LIB))
$(PARTS): $(BUILD)/obj/test/dist/parts.o $(DIST_SHARED) $(SHARED)
	$(call link,-L$(LIB) -lexatrkx_dist -lexatrkx -lpthread -lm $(RPATH_LIB))
$(NCCL_TESTS): $(patsubst %,$(BUILD)/obj/test/%.o,cuda/test_dist_nccl \
    cuda/shared_memory unit/main unit/support unit/job) $(DIST_STATIC) \
    $(filter-out $(BUILD)/obj/cuda/%,$(OBJECTS)) $(BUILD)/obj/backend/cuda_absent.o
	$(call link,$(TESTS_LDLIBS))
$(SOAK): $(BUILD)/obj/test/soak/soak.o $(SHARED)
	$(call link,-L$(LIB) -lexatrkx -lpthread $(RPATH_LIB))
$(MPI_FAULTS): $(BUILD)/obj/test/dist/mpi_faults.o $(DIST_OBJECTS) $(DIST_MPI) \
    $(DIST_NCCL) $(SHARED)
	$(call link,-L$(LIB) -lexatrkx $(MPI_LDLIBS) $(NCCL_LDLIBS) -lpthread -lm \
	    $(RPATH_LIB))

# ------------------------------------------------------------------- tests --

# make check SUITE=graph: one suite.
SUITE ?=
check: deps
	@$(MAKE) --no-print-directory $(if $(SUITE),$(TESTS),all tests)
	@test/check.sh $(BUILD) $(LIB) $(SUITE:%=suite:%)
check-fast: deps
	@$(MAKE) --no-print-directory lib $(TESTS)
	@test/check.sh $(BUILD) $(LIB) fast

# All of the device without one: its suites, the same with every access checked,
# with less and more shared memory, kernels as nvcc compiles them, what links with
# NCCL; then each checker itself: what is broken on purpose must fail. Long, so
# only some are a part of check.
check-device: deps
	@$(MAKE) --no-print-directory $(SHIM_TESTS) $(SHIM_CHECKED)
	@ETX_SLOW=1 test/check.sh $(BUILD) $(LIB) devices checked ptx nccl gpu-report
	@$(MAKE) --no-print-directory check-mutations
check-mutations: $(SHIM_CHECKED)
	@test/cuda_shim/mutations.sh $(BUILD)/mutations \
	    '$(SHIM_COMPILE) $(CHECKED_FLAGS)' \
	    '$(CHECKED_OBJECTS) $(SHIM_RANKS) $(SHIM_NCCL)' \
	    '-lz -lpthread -lm $(LDLIBS_CHECK)'

# Parts of check with the number of failures that were tried.
COUNT_FAILURES := awk -F': ' '/ failures/ { n += $$2 } \
    END { print n " failures were tried" }'
check-oom: $(FAULTS)
	@ETX_FAULTS=all CK_TIMEOUT_MULTIPLIER=20 CK_RUN_SUITE=faults_memory \
	    $(FAULTS) >$(FAULTS)-$@.log || \
	    { cat $(FAULTS)-$@.log; exit 1; }
	@$(COUNT_FAILURES) $(FAULTS)-$@.log
check-io: $(FAULTS)
	@CK_RUN_SUITE=faults_files $(FAULTS) >$(FAULTS)-$@.log || \
	    { cat $(FAULTS)-$@.log; exit 1; }
	@$(COUNT_FAILURES) $(FAULTS)-$@.log

# A training that is killed 200 times: minutes, so not a part of check.
check-kill: programs
	@test/train/kill.sh $(BUILD)

# Every command of examples/train-models.sh, on small events.
check-train-models: programs
	@test/train/models.sh $(BUILD)

# 10 000 events in one process: a minute. A training of an hour. The thread caches
# of glibc, which keep freed blocks of every size that was once needed, are off.
check-soak: $(SOAK)
	@GLIBC_TUNABLES=glibc.malloc.tcache_count=0 $(SOAK)
check-soak-training: programs
	@test/soak/training.sh $(BUILD)
# 10 million hits, and more than 2^31 edges.
check-large: $(LARGE)
	@$(LARGE)

# Time by the number of hits, of hostile events and of full ones.
check-growth: $(SHARED)
	@if python3 -c 'import numpy' 2>/dev/null; then \
	    ETX_LIBRARY=$(LIB)/libexatrkx.so PYTHONPATH=bindings/python \
	        python3 test/soak/growth.py; \
	else echo 'SKIPPED growth: no numpy'; fi

lint:
	@test/lint/lint.sh
lines:
	@test/lint/lines.sh
abi: $(SHARED) $(DIST_SHARED)
	@test/check.sh $(BUILD) $(LIB) symbols abi
# By a release, once: what later versions are compared with. test/upgrade
# compiles its host against the headers.
ABI := lib/abi/$(VERSION)
abi-baseline: $(SHARED) $(DIST_SHARED)
	@if [ -e $(ABI) ]; then echo '$(ABI): written by its release' >&2; exit 1; fi
	@rm -rf $(BUILD)/abi && mkdir -p $(BUILD)/abi/exatrkx $(dir $(ABI))
	@cp include/exatrkx/*.h $(BUILD)/abi/exatrkx
	@cp test/upgrade/caller.c test/upgrade/files.c $(BUILD)/abi
	@for name in exatrkx exatrkx_dist; do \
	    test/lint/abi_write.sh $(LIB)/lib$$name.so include $(BUILD)/abi/$$name.abi \
	        || exit 1; \
	done
	@$(CC) -std=c11 -Iinclude test/upgrade/files.c -L$(LIB) -lexatrkx $(RPATH_LIB) \
	    -o $(BUILD)/test/files
	@$(BUILD)/test/files write $(BUILD)/abi > $(BUILD)/abi/defaults
	@mv $(BUILD)/abi $(ABI)
# With musl and for aarch64, where their compilers and zlib are: minutes.
check-hosts: $(STATIC) $(BUILD)/obj/test/hosts/probe.o
	@test/hosts/hosts.sh $(BUILD) $(LIB)
# README.md's two commands in bare Debian systems, with a network: over an hour.
check-roots:
	@test/hosts/roots.sh
# Twice the library without a cache of the compiler: minutes.
check-reproducible:
	@test/programs/reproducible.sh

# The unit tests with instrumentation, in a build folder of their own. ITEMS: see
# test/check.sh. $(call instrument,folder,flags,programs,other variables).
ITEMS ?= $(SUITE:%=suite:%)
instrument = +@$(MAKE) --no-print-directory BUILD=build/$(1) LIB=build/$(1)/lib \
    OPTIMISE='-O1 -g' SANITIZE='$(2)' $(4) $(or $(3:%=build/$(1)/test/%),programs)
ASAN := -fsanitize=address,undefined -fno-sanitize-recover=undefined \
    -fno-omit-frame-pointer
# Functions above the operators can be stopped at random (test/schedule).
TSAN := -fsanitize=thread -finstrument-functions \
    -finstrument-functions-exclude-file-list=src/op/
TSAN_SUITES := threads stress stages host edge_bins graph checkop_radius_graph \
    checkop_line_graph checkop_mlp train_differential dist_comm \
    dist_training dist_parts dist_team first_pass completion module_map \
    own_edge_features track_building track_fitting parts differential
TSAN_SAMPLE := suite:threads suite:stress
asan: deps
	$(call instrument,asan,$(ASAN),exatrkx-tests faults-tests)
	@ASAN_OPTIONS=allocator_may_return_null=1 CK_TIMEOUT_MULTIPLIER=20 \
	    test/check.sh build/asan build/asan/lib $(or $(ITEMS),suites faults)
# What is broken on purpose in a source must fail a suite, under AddressSanitizer. A
# share of all mutants; MUTATE: arguments of the script,
# MUTATE='--share 1 src/io/csv.c'.
MUTATE ?=
check-mutants: deps
	$(call instrument,asan,$(ASAN),exatrkx-tests faults-tests)
	@python3 test/mutation/mutate.py \
	    --compile '$(CC) $(filter-out -DNDEBUG,$(CFLAGS_ALL))' \
	    --sanitize '$(ASAN)' --link '$(CC) $(ASAN)' \
	    --programs '$(patsubst %,build/asan/test/%,exatrkx-tests faults-tests)' \
	    --objects '$(patsubst \
	    $(LIB)/%,build/asan/lib/%,$(TESTS_PARTS:$(BUILD)/%=build/asan/%))' \
	    --libraries '$(TESTS_LDLIBS)' --faults-objects '$(patsubst \
    $(LIB)/%,build/asan/lib/%,$(FAULTS_PARTS:$(BUILD)/%=build/asan/%))' \
    --faults-libraries '$(FAULTS_LDLIBS)' --out build/asan/mutation $(MUTATE)
# Every program as its users run it, also with wrong options and files, and the
# test of the stages for ACTS; a leak changes the exit code.
check-leaks: programs
	$(call instrument,asan,$(ASAN))
	@LD_LIBRARY_PATH=build/asan/lib test/programs/programs.sh build/asan
	@ETX_PRELOAD="$$(gcc -print-file-name=liblsan.so)" \
	    test/programs/acts.sh $(BUILD) $(LIB) || [ $$? -eq 77 ]
tsan: deps
	$(call instrument,tsan,$(TSAN),exatrkx-tests)
	@TSAN_OPTIONS=allocator_may_return_null=1 CK_TIMEOUT_MULTIPLIER=20 \
	    test/check.sh build/tsan build/tsan/lib \
	    $(or $(ITEMS),$(TSAN_SUITES:%=suite:%))
# Threads that stop at random, under ThreadSanitizer; a broken pool must fail.
SCHEDULES ?= 1 2 3
SCHEDULE_SUITES := threads stress train_differential dist_comm dist_parts
check-schedule: deps
	$(call instrument,tsan,$(TSAN),exatrkx-tests broken-pool)
	@$(CC) -shared -fPIC -O1 $(WARNINGS) test/schedule/yield.c \
	    -o build/tsan/test/yield.so
	@for seed in $(SCHEDULES); do \
	    SCHEDULE_SEED=$$seed LD_PRELOAD=$(CURDIR)/build/tsan/test/yield.so \
	        CK_TIMEOUT_MULTIPLIER=20 test/check.sh build/tsan build/tsan/lib \
	        $(SCHEDULE_SUITES:%=suite:%) || exit 1; \
	done
	@for seed in $(SCHEDULES); do \
	    SCHEDULE_SEED=$$seed LD_PRELOAD=$(CURDIR)/build/tsan/test/yield.so \
	        CK_RUN_CASE=test_threads_lowest_error build/tsan/test/broken-pool \
	        >/dev/null 2>&1 || exit 0; \
	done; echo 'check-schedule: a broken pool passes' >&2; exit 1
# Of src, with a least share of each part (test/coverage.sh); the emulation of
# CUDA runs what it does for a device. Nothing is optimised, as nowhere else, but
# code for vectors: without it each of its values lies in a frame of its own, and
# the frames do not fit the stack of 64 KiB that a host may have.
COVERAGE := --coverage -fprofile-update=atomic
COVERAGE_FLAGS := OPTIMISE='-O0 -g' FLAGS_simd='$(FLAGS_simd) -O1'
COVERAGE_INPUTS := device:cuda_shim_inputs device:cuda_shim_index
COVERAGE_ITEMS := suites faults $(if $(SHIM_CXX),$(COVERAGE_INPUTS) \
    $(patsubst %,device:%,cuda cuda_half cuda_labels cuda_parts cuda_train) \
    device:cuda_shim_batch)
COVERAGE_SAMPLE := quick
# With suites that train, call most operators and lack memory, within seconds.
COVERAGE_OF_SAMPLE := quick faults:test_faults_malloc suite:train_losses \
    suite:dist_team suite:checkop_training $(if $(SHIM_CXX),$(COVERAGE_INPUTS))
coverage: deps
	$(call instrument,coverage,$(COVERAGE),exatrkx-tests faults-tests \
	    $(if $(SHIM_CXX),cuda-shim-tests),$(COVERAGE_FLAGS))
	@# Counts of an earlier run would be added.
	@find build/coverage -name '*.gcda' -delete
	@CK_TIMEOUT_MULTIPLIER=20 ETX_RANDOM_CASES=100 test/check.sh \
	    build/coverage build/coverage/lib $(or $(if $(filter \
	    $(COVERAGE_SAMPLE),$(ITEMS)),$(COVERAGE_OF_SAMPLE),$(ITEMS)),\
	    $(COVERAGE_ITEMS))
	@test/coverage.sh build/coverage $(if $(ITEMS),$(filter \
	    $(COVERAGE_SAMPLE),$(ITEMS)),all)
fuzz check-fuzz:
	@test/fuzz/run.sh

# A sample of the four above, so that none of them stops working unnoticed; and
# everything, one after the other, in an hour to an hour and a half without roots.
check-sample:
	@$(MAKE) --no-print-directory asan ITEMS='faults quick'
	@$(MAKE) --no-print-directory tsan ITEMS='$(TSAN_SAMPLE)'
	@$(MAKE) --no-print-directory coverage ITEMS='$(COVERAGE_SAMPLE)'
	@SECONDS_EACH=30 test/fuzz/run.sh
check-all:
	@export ETX_SLOW=1; for part in check lint check-oom check-io check-device \
	    check-kill check-train-models check-soak check-large check-growth check-hosts \
	    check-reproducible check-roots asan check-leaks tsan coverage check-fuzz \
	    results-stale; do \
	    $(MAKE) --no-print-directory $$part || exit 1; done

# --------------------------------------------------------------------- GPU --

# Build, device tests, compute-sanitizer and times on a machine with a GPU: one
# report. The bundle does the same on a machine that has the driver, cuBLASLt and
# the C library, and nothing else; one of its programs alone loads NCCL. A machine with
# a GPU may have neither network nor package manager: DEPS=build/bundle/deps.
GPU_OUT ?= build/gpu
BUNDLE ?= build/bundle
device_suites = @build/$(1)/test/exatrkx-tests --list | \
    grep -E '^(checkop_|cuda)' > build/$(1)/test/device-suites
gpu:
	@$(MAKE) --no-print-directory CUDA=1 all tests
	$(call device_suites,cuda)
	@test/cuda/gpu.sh build/cuda/test build/cuda/examples $(GPU_OUT)
bundle: deps
	@$(MAKE) --no-print-directory CUDA=1 NCCL=0 MPI=0 BUILD=build/bundled \
	    LIB=build/bundled/lib all tests
	$(call device_suites,bundled)
	@$(MAKE) --no-print-directory CUDA=1 MPI=0 BUILD=build/bundled \
	    LIB=build/bundled/nccl build/bundled/test/nccl-tests
	@test/cuda/bundle.sh build/bundled $(BUNDLE)
# Registers, shared memory and spills of the kernels, from the output of ptxas.
resources: deps
	@$(MAKE) --no-print-directory CUDA=1 lib
	@test/cuda/resources.sh build/cuda/obj/cuda
