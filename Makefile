# Build, test and install libexatrkx. `make demo` and `make check` set up what
# they need; `make help` lists the rest.

CC ?= gcc
CUDA ?= 0
MPI ?= auto
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
DATADIR ?= $(PREFIX)/share/exatrkx
MANDIR ?= $(PREFIX)/share/man
DESTDIR ?=
ifeq ($(CUDA),1)
BUILD ?= build/cuda
LIB ?= build/cuda/lib
else
BUILD ?= build
LIB ?= lib
endif
SANITIZE ?=

ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(filter $(CUDA),0 1),)
$(error CUDA=$(CUDA): 0 builds without the CUDA backend, 1 with it)
endif
ifeq ($(filter $(MPI),auto 0 1),)
$(error MPI=$(MPI): 0 builds without MPI, 1 with it, auto where mpicc is)
endif
MPICC ?= mpicc
HAVE_MPI := $(if $(filter auto,$(MPI)),\
    $(if $(shell command -v $(MPICC) 2>/dev/null),1,0),$(MPI))
HAVE_MPI := $(strip $(HAVE_MPI))

VERSION_H := include/exatrkx/version.h
version = $(shell sed -n 's/^.define ETX_VERSION_$(1) //p' $(VERSION_H))
MAJOR := $(call version,MAJOR)
VERSION := $(MAJOR).$(call version,MINOR).$(call version,PATCH)

# ------------------------------------------------------------------ set-up --

# What the build and its tests need of Debian; why: README.md.
PACKAGES := libc6-dev pkg-config libjansson-dev zlib1g-dev check

# ------------------------------------------------------------------- flags --

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion \
    -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef -Wcast-qual \
    -Wwrite-strings -Wpointer-arith -Wformat=2 -Wnull-dereference \
    -Wswitch-enum -Werror
OPTIMISE ?= -O3 -g
CFLAGS_ALL := -std=c11 -D_POSIX_C_SOURCE=200809L $(OPTIMISE) -fPIC \
    -fvisibility=hidden -ffp-contract=off $(WARNINGS) $(SANITIZE) -Iinclude \
    -Isrc -I$(BUILD)/gen -MMD -MP $(CFLAGS)
# gcc vectorises the loops of src/op/x86/simd only when it need not keep errno
# and the order of floating-point traps; neither changes a result.
FLAGS_simd := -fopenmp-simd -fno-math-errno -fno-trapping-math
FLAGS_avx2 := -mavx2 -mfma -DETX_ISA=avx2
FLAGS_avx512 := -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma \
    -mprefer-vector-width=512 -DETX_ISA=avx512
LDLIBS_LIB := -ljansson -lz -lpthread -lm
LDFLAGS_LIB := -shared -Wl,--version-script=lib/exatrkx.map \
    -Wl,-soname,libexatrkx.so.$(MAJOR) -Wl,-z,defs -Wl,--exclude-libs,ALL

# Where the C library is glibc: names that its older versions have, too.
GLIBC_NAMES := $(shell getconf GNU_LIBC_VERSION >/dev/null 2>&1 && \
    echo glibc_names)
LDFLAGS_LIB += $(GLIBC_NAMES:%=-Wl,--wrap=hypot)

# ----------------------------------------------------------------- sources --

ARCHS := $(patsubst src/arch/%/,%,$(sort $(dir $(wildcard src/arch/*/*.c))))
BACKENDS := $(patsubst src/%/,%,$(sort $(wildcard src/backend/*/)))
TRAIN := $(patsubst src/%/,%,$(sort $(wildcard src/train/*/)))
ROOMS := base memory data op op/ref op/x86 backend $(BACKENDS) arch $(ARCHS:%=arch/%) \
    stage stage/graph_construction stage/edge_classification \
    stage/track_building io eval train $(TRAIN) api
SOURCES := $(foreach room,$(ROOMS),$(wildcard src/$(room)/*.c))
OBJECTS := $(SOURCES:src/%.c=$(BUILD)/obj/%.o) $(BUILD)/obj/gen/archs.o
ifeq ($(shell uname -m),x86_64)
SIMD := $(wildcard src/op/x86/simd/*.c)
OBJECTS += $(foreach isa,avx2 avx512,$(SIMD:src/%.c=$(BUILD)/obj/$(isa)/%.o))
endif

# With CUDA=1 the folder cuda/ takes the place of its absent twin. The runtime
# is linked in; cuBLASLt is a library beside the toolkit. Objects are for
# compute capability 8.0 and 9.0, and PTX for later ones.
CUDA_HOME ?= /usr/local/cuda
NVCC ?= $(CUDA_HOME)/bin/nvcc
CUDA_ARCHS := -gencode arch=compute_80,code=sm_80 \
    -gencode arch=compute_90,code=[sm_90,compute_90]
CUDA_FLAGS := -std=c++17 -O3 -lineinfo -fmad=false $(CUDA_ARCHS) \
    -Werror all-warnings -Xptxas --warn-on-spills -I. -Iinclude -Isrc -MMD \
    -Xcompiler -Wall,-Wextra,-Werror,-fPIC,-fvisibility=hidden
ifeq ($(CUDA),1)
CUDA_SOURCES := $(wildcard cuda/backend/*.cu cuda/op/*.cu)
OBJECTS := $(filter-out %/backend/cuda_absent.o,$(OBJECTS)) \
    $(CUDA_SOURCES:%.cu=$(BUILD)/obj/%.o)
LDLIBS_CUDA := -L$(CUDA_HOME)/lib64 -lcublasLt -lcudart_static -lrt -ldl \
    -Wl,-Bstatic -lstdc++ -Wl,-Bdynamic -Wl,-rpath,$(CUDA_HOME)/lib64
LDLIBS_LIB += -Wl,-rpath,'$$ORIGIN' $(LDLIBS_CUDA)
endif

SONAME := $(LIB)/libexatrkx.so.$(MAJOR)
SHARED := $(LIB)/libexatrkx.so
STATIC := $(LIB)/libexatrkx.a

# Distributed training, a library of its own: without MPI it has ranks that are
# threads. The archive leaves MPI out, so that tests run without it.
DIST_COMMON := $(filter-out src/dist/mpi% src/dist/nccl%,\
    $(wildcard src/dist/*.c))
DIST_OBJECTS := $(DIST_COMMON:src/%.c=$(BUILD)/obj/%.o)
DIST_MPI := $(patsubst %,$(BUILD)/obj/dist/%.o,\
    $(if $(filter 1,$(HAVE_MPI)),mpi mpi_open,mpi_absent))
DIST_SONAME := $(LIB)/libexatrkx_dist.so.$(MAJOR)
DIST_SHARED := $(LIB)/libexatrkx_dist.so
DIST_STATIC := $(LIB)/libexatrkx_dist.a
# NCCL comes with the toolkit or beside it, where its header is; NCCL=0: none.
NCCL ?= auto
ifneq ($(and $(filter 1,$(CUDA)),$(filter-out 0,$(NCCL)),$(wildcard $(CUDA_HOME)/include/nccl.h)),)
DIST_NCCL := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard cuda/dist/*.c))
NCCL_LDLIBS := -L$(CUDA_HOME)/lib64 -L$(CUDA_HOME)/lib -lnccl \
    -lcudart_static -lrt -ldl -Wl,-rpath,$(CUDA_HOME)/lib64:$(CUDA_HOME)/lib
else
DIST_NCCL := $(BUILD)/obj/dist/nccl_absent.o
endif
ifeq ($(HAVE_MPI),1)
# The headers of MPI are not ours to warn about.
MPI_CFLAGS := $(patsubst -I%,-isystem %,\
    $(filter-out -pthread,$(shell $(MPICC) --showme:compile)))
MPI_LDLIBS := $(shell $(MPICC) --showme:link)
MPI_TESTS := $(BUILD)/test/mpi-faults
endif

PROGRAM_SOURCES := $(wildcard examples/etx-*.c)
PROGRAMS := $(PROGRAM_SOURCES:examples/%.c=$(BUILD)/examples/%)
PROGRAM_PARTS := $(filter-out $(PROGRAM_SOURCES),$(wildcard examples/*.c))
PROGRAM_OBJECTS := $(PROGRAM_PARTS:examples/%.c=$(BUILD)/obj/examples/%.o)
SMALL_PROGRAMS := $(patsubst examples/%.c,$(BUILD)/examples/%, \
    $(wildcard examples/small/*.c))

TEST_SOURCES := $(foreach room,unit checkop conformance golden cuda,\
    $(wildcard test/$(room)/*.c))
TEST_OBJECTS := $(TEST_SOURCES:%.c=$(BUILD)/obj/%.o)
ifeq ($(CUDA),1)
TEST_OBJECTS := $(TEST_OBJECTS:%/checkop/shared_memory.o=%/cuda/shared_memory.o)
endif
SUITES := $(patsubst test_%.c,%,$(filter test_%.c,$(notdir $(TEST_SOURCES))))
TESTS := $(BUILD)/test/exatrkx-tests
# The kernels' logic on the CPU: cuda/ as plain C++ over a pretended runtime,
# with the suites of operators and of the device.
SHIM := test/cuda_shim
SHIM_TESTS := $(BUILD)/test/cuda-shim-tests
SHIM_CXX := $(if $(filter x86_64,$(shell uname -m)),$(shell command -v $(CXX)))
DEVICE_SUITES := $(sort $(filter checkop_% cuda%,$(SUITES)))
SHIM_SOURCES := $(wildcard cuda/backend/*.cu cuda/op/*.cu $(SHIM)/*.cpp) \
    test/cuda/shared_memory.cu
SHIM_OBJECTS := $(addprefix $(BUILD)/obj/shim/,$(addsuffix .o,$(SHIM_SOURCES))) \
    $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard $(SHIM)/*.c)) \
    $(filter-out %/shared_memory.o,$(filter $(BUILD)/obj/test/checkop/% \
    $(BUILD)/obj/test/cuda/test_cuda% %/unit/main.o %/support.o \
    %/train_bench.o %/train_events.o %/part_threads.o,$(TEST_OBJECTS))) \
    $(filter-out %/cuda_absent.o $(BUILD)/obj/cuda/%,$(OBJECTS))
CHECKOP_BENCH := $(BUILD)/test/checkop-bench
NETWORK_STEPS := $(BUILD)/test/network-steps
TRAINING_MEMORY := $(BUILD)/test/training-memory

# The benchmark beside other software: its Python (any that holds
# test/bench/peers/requirements.txt), its arguments, its own C.
PEERS := test/bench/peers
PEERS_OUT ?= $(BUILD)/bench
PEERS_VENV ?= $(PEERS_OUT)/venv
PEERS_ARGS ?=
LDLIBS_own_product = $(STATIC) $(LDLIBS_LIB)
LDLIBS_xsmm_product = $(shell pkg-config --libs libxsmm) -lblas -ldl -lpthread
PEERS_NATIVE := $(PEERS_OUT)/limits.so $(PEERS_OUT)/nanoflann_pairs.so \
    $(PEERS_OUT)/xsmm_product.so $(PEERS_OUT)/own_product.so

PYTHON_C := bindings/python/exatrkx/_declarations.py

# ----------------------------------------------------------------- targets --

.PHONY: all lib programs tests resources check demo bench bench-peers bench-peers-deps \
    bench-ranks check-kill install uninstall dist docs declarations \
    format lint clean deps help gpu bundle asan tsan fuzz coverage abi
.DELETE_ON_ERROR:

all: lib programs

help:
	@echo 'make            the library (lib/) and the programs (build/examples/)'
	@echo 'make demo       set up, build, find the tracks of the shipped events'
	@echo 'make check      set up, build and run every test'
	@echo 'make bench      time every stage and operator'
	@echo 'make bench-peers  time the stages beside other software'
	@echo 'make bench-ranks  train on two processes beside PyTorch DDP'
	@echo 'make gpu        build with CUDA=1, test and time on a GPU; one report'
	@echo 'make bundle     a folder that does the same on a bare machine'
	@echo 'make resources  registers and spills of the kernels, as a table'
	@echo 'make install    PREFIX=/usr/local DESTDIR='
	@echo 'make declarations  the C interface for Python, from the headers'
	@echo 'make lint docs format asan tsan fuzz coverage abi clean'

lib: $(SHARED) $(STATIC) $(DIST_SHARED) $(DIST_STATIC)
programs: $(PROGRAMS) $(SMALL_PROGRAMS)
tests: $(TESTS) $(NETWORK_STEPS) $(BUILD)/test/parts $(MPI_TESTS) \
    $(if $(SHIM_CXX),$(SHIM_TESTS))

# One command that installs what is missing, or says which one would.
deps:
	@test/setup.sh $(PACKAGES)

demo: deps
	@$(MAKE) --no-print-directory all
	@examples/demo.sh $(BUILD)

check: deps
	@$(MAKE) --no-print-directory all tests
	@test/check.sh $(BUILD) $(LIB)

# $(call compile,flags): one object from one source.
compile = @mkdir -p $(@D) && echo "  cc    $@" && \
    $(CC) $(CFLAGS_ALL) $(1) -c $< -o $@

$(BUILD)/obj/%.o: src/%.c
	$(call compile)
$(BUILD)/obj/dist/mpi.o: src/dist/mpi.c
	$(call compile,$(MPI_CFLAGS))
$(BUILD)/obj/dist/mpi_open.o: src/dist/mpi_open.c
	$(call compile,$(MPI_CFLAGS))
$(BUILD)/obj/cuda/%.o: cuda/%.c
	$(call compile,-isystem $(CUDA_HOME)/include)
$(BUILD)/obj/avx2/%.o: src/%.c
	$(call compile,$(FLAGS_simd) $(FLAGS_avx2))
$(BUILD)/obj/avx512/%.o: src/%.c
	$(call compile,$(FLAGS_simd) $(FLAGS_avx512))
$(BUILD)/obj/gen/%.o: $(BUILD)/gen/%.c
	$(call compile)
$(BUILD)/obj/lib/%.o: lib/%.c
	$(call compile)
$(BUILD)/obj/examples/%.o: examples/%.c
	$(call compile,-Iexamples)
$(BUILD)/obj/examples/program.o: examples/program.c $(BUILD)/gen/datadir
	$(call compile,-Iexamples -DETX_DATA_DIR='"$(DATADIR)"')
# Where the programs look for what ships: they are made anew when it changes.
.PHONY: changed
$(BUILD)/gen/datadir: $(if $(filter-out $(DATADIR),\
    $(shell cat $(BUILD)/gen/datadir 2>/dev/null)),changed)
	@mkdir -p $(@D) && echo '$(DATADIR)' > $@
$(BUILD)/obj/cuda/%.o: cuda/%.cu
	@mkdir -p $(@D) && echo "  nvcc  $@"
	@$(NVCC) $(CUDA_FLAGS) -Xptxas -v -c $< -o $@ 2> $@.ptxas || \
	    { cat $@.ptxas >&2; rm -f $@; exit 1; }
$(BUILD)/obj/test/%.o: test/%.c
	$(call compile,-Itest/unit -Itest/checkop)

$(BUILD)/obj/test/cuda/%.o: test/cuda/%.cu
	@mkdir -p $(@D) && echo "  nvcc  $@"
	@$(NVCC) $(CUDA_FLAGS) -Itest/checkop -Itest/unit -c $< -o $@

$(BUILD)/obj/shim/%.o: %
	@mkdir -p $(@D) && echo "  c++   $@"
	@$(filter ccache,$(CC)) $(CXX) -x c++ -std=c++17 -O2 -g -ffp-contract=off \
	    -fno-strict-aliasing \
	    -Wall -Wextra -Werror -I$(SHIM) -I. -Iinclude -Isrc -Itest/checkop -Itest/unit \
	    -MMD -MP -c $< -o $@

# The list of network families is the list of folders in src/arch/.
$(BUILD)/gen/archs.c: $(ARCHS:%=src/arch/%) Makefile
	@mkdir -p $(@D)
	@{ echo '#include "arch/arch.h"'; \
	for net in $(ARCHS); do \
	    echo "extern const struct etx_arch etx_arch_$$net;"; done; \
	echo 'const struct etx_arch *const etx_archs[] = {'; \
	for net in $(ARCHS); do echo "    &etx_arch_$$net,"; done; \
	echo '    NULL};'; } > $@

$(SONAME): $(OBJECTS) $(GLIBC_NAMES:%=$(BUILD)/obj/lib/%.o) lib/exatrkx.map
	@mkdir -p $(@D) && echo "  link  $@"
	@$(CC) $(SANITIZE) $(filter %.o,$^) $(LDFLAGS_LIB) $(LDLIBS_LIB) -o $@
$(SHARED): $(SONAME)
	@ln -sf $(notdir $<) $@
$(STATIC): $(OBJECTS)
	@mkdir -p $(@D) && echo "  ar    $@" && rm -f $@ && ar rcs $@ $(OBJECTS)

$(DIST_SONAME): $(DIST_OBJECTS) $(DIST_MPI) \
    $(DIST_NCCL) $(SHARED) \
    lib/exatrkx_dist.map
	@mkdir -p $(@D) && echo "  link  $@"
	@$(CC) $(SANITIZE) $(filter %.o,$^) -shared -Wl,-z,defs \
	    -Wl,--version-script=lib/exatrkx_dist.map \
	    -Wl,-soname,$(notdir $(DIST_SONAME)) -Wl,-rpath,'$$ORIGIN' \
	    -L$(LIB) -lexatrkx $(MPI_LDLIBS) $(NCCL_LDLIBS) -lpthread -lm -o $@
$(DIST_SHARED): $(DIST_SONAME)
	@ln -sf $(notdir $<) $@
$(DIST_STATIC): $(DIST_OBJECTS) $(BUILD)/obj/dist/mpi_absent.o $(DIST_NCCL)
	@mkdir -p $(@D) && echo "  ar    $@" && rm -f $@ && ar rcs $@ $^

$(BUILD)/examples/etx-train-distributed: LDLIBS_PROGRAM := -lexatrkx_dist
$(BUILD)/examples/etx-train-distributed: $(DIST_SHARED)
$(BUILD)/examples/small/%: $(BUILD)/obj/examples/small/%.o $(SHARED)
	@mkdir -p $(@D) && echo "  link  $@"
	@$(CC) $(SANITIZE) $< -L$(LIB) -lexatrkx \
	    -Wl,-rpath,'$$ORIGIN/../../../lib' -o $@
$(BUILD)/examples/%: $(BUILD)/obj/examples/%.o $(PROGRAM_OBJECTS) $(SHARED)
	@mkdir -p $(@D) && echo "  link  $@"
	@$(CC) $(SANITIZE) $< $(PROGRAM_OBJECTS) -L$(LIB) $(LDLIBS_PROGRAM) \
	    -lexatrkx -ljansson -lz -lm -lpthread \
	    -Wl,-rpath,'$$ORIGIN/../../lib' -Wl,-rpath,'$$ORIGIN/../lib' -o $@

# What the programs measure of a machine is tested, too.
$(TESTS): $(TEST_OBJECTS) $(BUILD)/obj/examples/cores.o \
    $(BUILD)/obj/examples/energy.o $(DIST_STATIC) $(STATIC)
	@mkdir -p $(@D) && echo "  link  $@"
	@$(CC) $(SANITIZE) $^ $(LDLIBS_LIB) $(NCCL_LDLIBS) \
	    $(shell pkg-config --libs check 2>/dev/null || echo -lcheck) -o $@

$(SHIM_TESTS): $(SHIM_OBJECTS)
	@mkdir -p $(@D) && echo "  link  $@"
	@$(CXX) $(SHIM_OBJECTS) -ljansson -lz -lpthread -lm \
	    $(shell pkg-config --libs check 2>/dev/null || echo -lcheck) -o $@

$(CHECKOP_BENCH): $(BUILD)/obj/test/bench/checkop_bench.o \
    $(filter-out %/main.o $(BUILD)/obj/test/checkop/test_%,\
    $(filter $(BUILD)/obj/test/checkop/% %/cuda/shared_memory.o,\
    $(TEST_OBJECTS))) $(STATIC)
	@mkdir -p $(@D) && echo "  link  $@"
	@$(CC) $(SANITIZE) $^ $(LDLIBS_LIB) \
	    $(shell pkg-config --libs check 2>/dev/null || echo -lcheck) -o $@

$(NETWORK_STEPS): $(BUILD)/obj/test/parity/network_steps.o $(STATIC)
	@mkdir -p $(@D) && echo "  link  $@"
	@$(CC) $(SANITIZE) $^ $(LDLIBS_LIB) -o $@

$(TRAINING_MEMORY): $(BUILD)/obj/test/bench/training_memory.o $(STATIC)
	@mkdir -p $(@D) && echo "  link  $@"
	@$(CC) $(SANITIZE) $^ $(LDLIBS_LIB) -o $@

# Parts of a graph: benchmarks of what independent sectors lose and of one graph
# on several ranks, and a test for mpirun.
PARTS_PROGRAMS := $(BUILD)/test/sectors $(BUILD)/test/graph-parallel \
    $(BUILD)/test/parts
$(BUILD)/test/parts: $(BUILD)/obj/test/dist/parts.o
$(BUILD)/test/sectors: $(BUILD)/obj/test/bench/sectors.o
$(BUILD)/test/graph-parallel: $(BUILD)/obj/test/bench/graph_parallel.o
$(PARTS_PROGRAMS): $(DIST_SHARED) $(SHARED)
	@mkdir -p $(@D) && echo "  link  $@"
	@$(CC) $(SANITIZE) $(filter %.o,$^) -L$(LIB) -lexatrkx_dist -lexatrkx \
	    -lpthread -lm -Wl,-rpath,$(abspath $(LIB)) -o $@

# A test for mpirun that looks below the interface of the library.
$(BUILD)/obj/test/dist/mpi_faults.o: test/dist/mpi_faults.c
	$(call compile,$(MPI_CFLAGS))
$(BUILD)/test/mpi-faults: $(BUILD)/obj/test/dist/mpi_faults.o \
    $(DIST_OBJECTS) $(DIST_MPI) $(DIST_NCCL) $(SHARED)
	@mkdir -p $(@D) && echo "  link  $@"
	@$(CC) $(SANITIZE) $(filter %.o,$^) -L$(LIB) -lexatrkx $(MPI_LDLIBS) \
	    $(NCCL_LDLIBS) -lpthread -lm -Wl,-rpath,$(abspath $(LIB)) -o $@

bench: all $(CHECKOP_BENCH)
	@$(CHECKOP_BENCH)
	@$(BUILD)/examples/etx-bench --hits 10000,30000,100000 \
	    --model examples/models/default.safetensors

bench-peers-deps: deps
	@test/setup.sh python3-venv g++ libnanoflann-dev libxsmm-dev libblas-dev

$(PEERS_VENV)/bin/python:
	@python3 -m venv $(PEERS_VENV)
	@$(PEERS_VENV)/bin/pip install -q -r $(PEERS)/requirements.txt || \
	    { rm -f $@; exit 1; }
$(PEERS_OUT)/own_product.so: $(STATIC)
$(PEERS_OUT)/%.so: $(PEERS)/native/%.c
	@mkdir -p $(@D) && echo "  cc    $@"
	@$(CC) -std=c11 -O3 -march=native -fopenmp -shared -fPIC $(WARNINGS) -Iinclude \
	    -Isrc $< -o $@ $(LDLIBS_$*)
$(PEERS_OUT)/%.so: $(PEERS)/native/%.cpp
	@mkdir -p $(@D) && echo "  c++   $@"
	@$(CXX) -std=c++17 -O3 -march=native -fopenmp -shared -fPIC -Wall -Wextra \
	    $< -o $@

bench-peers: bench-peers-deps
	@$(MAKE) --no-print-directory lib $(PEERS_NATIVE) $(PEERS_VENV)/bin/python
	@ETX_LIBRARY=$(abspath $(SHARED)) ETX_NATIVE=$(abspath $(PEERS_OUT)) \
	    PYTHONPATH=test/bench:bindings/python PYTHONDONTWRITEBYTECODE=1 \
	    $(PEERS_VENV)/bin/python -m peers --out $(PEERS_OUT) $(PEERS_ARGS)

# Training on one and two processes beside PyTorch's DDP; RANKS_ARGS are those of
# test/bench/peers/ranks.py.
RANKS_ARGS ?=
bench-ranks: bench-peers-deps
	@$(MAKE) --no-print-directory lib $(PEERS_VENV)/bin/python
	@ETX_LIBRARY=$(abspath $(SHARED)) PYTHONDONTWRITEBYTECODE=1 \
	    PYTHONPATH=test/bench:bindings/python \
	    $(PEERS_VENV)/bin/python -m peers.ranks $(RANKS_ARGS)

# What a machine with a GPU is for: build, device tests, compute-sanitizer,
# times, one report. The bundle carries it to a machine that has the driver,
# cuBLASLt and the C library, and nothing else.
GPU_OUT ?= build/gpu
BUNDLE ?= build/bundle
gpu: deps
	@$(MAKE) --no-print-directory CUDA=1 all tests
	@echo $(DEVICE_SUITES) > build/cuda/test/device-suites
	@test/cuda/gpu.sh build/cuda/test build/cuda/examples $(GPU_OUT)
# Registers, shared memory and spills of the kernels, as ptxas told when they
# were compiled.
resources: deps
	@$(MAKE) --no-print-directory CUDA=1 lib
	@test/cuda/resources.sh build/cuda/obj/cuda
# Its programs load no NCCL, which such a machine may lack.
bundle: deps
	@$(MAKE) --no-print-directory CUDA=1 NCCL=0 BUILD=build/bundled \
	    LIB=build/bundled/lib all tests
	@echo $(DEVICE_SUITES) > build/bundled/test/device-suites
	@test/cuda/bundle.sh build/bundled $(BUNDLE)

# Sanitizers: the same rules in a build folder of their own.
asan: deps
	@$(MAKE) --no-print-directory BUILD=build/asan LIB=build/asan/lib \
	    OPTIMISE='-O1 -g' tests \
	    SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer'
	@ASAN_OPTIONS=allocator_may_return_null=1 CK_TIMEOUT_MULTIPLIER=20 \
	    build/asan/test/exatrkx-tests
tsan: deps
	@$(MAKE) --no-print-directory BUILD=build/tsan LIB=build/tsan/lib \
	    OPTIMISE='-O1 -g' SANITIZE='-fsanitize=thread' tests
	@for suite in threads stages host checkop_radius_graph edge_bins \
	    checkop_line_graph graph checkop_mlp train_steps train_cache \
	    dist_comm dist_training dist_parts; do \
	    CK_TIMEOUT_MULTIPLIER=20 CK_RUN_SUITE=$$suite \
	    build/tsan/test/exatrkx-tests || exit 1; done
coverage: deps
	@$(MAKE) --no-print-directory BUILD=build/coverage \
	    LIB=build/coverage/lib OPTIMISE='-O1 -g' SANITIZE='--coverage' tests
	@build/coverage/test/exatrkx-tests
	@gcovr --root . --filter src/ build/coverage

fuzz:
	@test/fuzz/run.sh

# A training that is killed 200 times: minutes, so not a part of check.
check-kill: programs
	@test/train/kill.sh $(BUILD)

lint:
	@test/lint/lint.sh

abi: $(SHARED) $(DIST_SHARED)
	@test/lint/abi.sh $(SHARED) lib/exatrkx.map include/exatrkx/[!d]*.h
	@test/lint/abi.sh $(DIST_SHARED) lib/exatrkx_dist.map \
	    include/exatrkx/dist.h

docs:
	@doxygen docs/Doxyfile

# The C interface for Python, from the headers; test/python compares.
declarations:
	@python3 bindings/python/generate_declarations.py > $(PYTHON_C).new
	@mv $(PYTHON_C).new $(PYTHON_C)

format:
	@git ls-files '*.c' '*.h' '*.cu' '*.cuh' | xargs clang-format -i

# What the programs need beside them.
SHIPPED := $(wildcard examples/data/*.csv.gz examples/models/*.safetensors)

# What the files of pkgconfig/ say of this build and where it goes.
FILL_IN = sed -e 's|@VERSION@|$(VERSION)|; s|@MAJOR@|$(MAJOR)|' -e \
    "s|@PREFIX_FROM_LIBDIR@|$$(realpath -ms --relative-to=$(LIBDIR) $(PREFIX))|" \
    -e 's| *@LDLIBS_CUDA@| $(LDLIBS_CUDA)|' -e 's| *$$||'

install: all
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/bin \
	    $(DESTDIR)$(PREFIX)/include/exatrkx $(DESTDIR)$(DATADIR)/data \
	    $(DESTDIR)$(DATADIR)/models
	install -m 644 include/exatrkx/*.h $(DESTDIR)$(PREFIX)/include/exatrkx/
	install -m 755 $(SONAME) $(DESTDIR)$(LIBDIR)/
	ln -sf libexatrkx.so.$(MAJOR) $(DESTDIR)$(LIBDIR)/libexatrkx.so
	install -m 644 $(STATIC) $(DESTDIR)$(LIBDIR)/
	install -m 755 $(DIST_SONAME) $(DESTDIR)$(LIBDIR)/
	ln -sf libexatrkx_dist.so.$(MAJOR) $(DESTDIR)$(LIBDIR)/libexatrkx_dist.so
	install -d $(DESTDIR)$(LIBDIR)/cmake/exatrkx
	for file in exatrkx exatrkx-dist; do $(FILL_IN) pkgconfig/$$file.pc.in \
	    > $(DESTDIR)$(LIBDIR)/pkgconfig/$$file.pc; done
	for file in exatrkx-config exatrkx-config-version; do \
	    $(FILL_IN) pkgconfig/$$file.cmake.in \
	    > $(DESTDIR)$(LIBDIR)/cmake/exatrkx/$$file.cmake; done
	for program in $(notdir $(PROGRAMS)); do install -m 755 \
	    $(BUILD)/examples/$$program $(DESTDIR)$(PREFIX)/bin/; done
	install -d $(DESTDIR)$(MANDIR)/man1
	for program in $(notdir $(PROGRAMS)); do $(BUILD)/examples/$$program --help | \
	    awk -v name=$$program -v version=$(VERSION) -f docs/man.awk \
	    > $(DESTDIR)$(MANDIR)/man1/$$program.1; done
	install -m 644 $(filter examples/data/%,$(SHIPPED)) $(DESTDIR)$(DATADIR)/data/
	install -m 644 $(filter examples/models/%,$(SHIPPED)) \
	    $(DESTDIR)$(DATADIR)/models/

# Others may have files in DATADIR: what is not ours stays, with its folder.
uninstall:
	rm -f $(DESTDIR)$(LIBDIR)/libexatrkx.so* \
	    $(DESTDIR)$(LIBDIR)/libexatrkx.a \
	    $(DESTDIR)$(LIBDIR)/libexatrkx_dist.so* \
	    $(DESTDIR)$(LIBDIR)/pkgconfig/exatrkx.pc \
	    $(DESTDIR)$(LIBDIR)/pkgconfig/exatrkx-dist.pc \
	    $(PROGRAM_SOURCES:examples/%.c=$(DESTDIR)$(PREFIX)/bin/%) \
	    $(PROGRAM_SOURCES:examples/%.c=$(DESTDIR)$(MANDIR)/man1/%.1)
	rm -rf $(DESTDIR)$(PREFIX)/include/exatrkx \
	    $(DESTDIR)$(LIBDIR)/cmake/exatrkx
	rm -f $(patsubst examples/%,$(DESTDIR)$(DATADIR)/%,$(SHIPPED))
	for folder in $(DESTDIR)$(DATADIR)/data $(DESTDIR)$(DATADIR)/models \
	    $(DESTDIR)$(DATADIR); do if [ -d $$folder ]; then \
	    rmdir --ignore-fail-on-non-empty $$folder; fi; done

dist:
	@git archive --prefix=libexatrkx-$(VERSION)/ \
	    -o libexatrkx-$(VERSION).tar.gz HEAD

clean:
	rm -rf build lib/libexatrkx.so* lib/libexatrkx.a lib/libexatrkx_dist.*

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
