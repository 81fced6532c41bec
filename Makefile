# Build libexatrkx: the library and the programs. test.mk tests,
# studies.mk measures, install.mk installs; `make help` lists the targets. `make demo`
# and `make check` install the packages that are missing.

CC ?= gcc
CUDA ?= 0
MPI ?= auto
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
DATADIR ?= $(PREFIX)/share/exatrkx
MANDIR ?= $(PREFIX)/share/man
DESTDIR ?=
# A folder with include/ and lib/ of what Debian's packages have, for machines
# without them; make bundle makes one.
DEPS ?=
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
# Recipes do not quote folders.
$(foreach name,PREFIX DESTDIR LIBDIR DATADIR MANDIR BUILD LIB DEPS,$(if \
    $(word 2,.$($(name)).),$(error $(name)=$($(name)): no folder may have blanks)))

VERSION_H := include/exatrkx/version.h
version = $(shell sed -n 's/^.define ETX_VERSION_$(1) //p' $(VERSION_H))
MAJOR := $(call version,MAJOR)
VERSION := $(MAJOR).$(call version,MINOR).$(call version,PATCH)

# ------------------------------------------------------------------ set-up --

# What the build and its tests need of Debian; why: README.md.
PACKAGES := libc6-dev pkg-config zlib1g-dev check

# ------------------------------------------------------------------- flags --

comma := ,
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion \
    -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef -Wcast-qual \
    -Wwrite-strings -Wpointer-arith -Wformat=2 -Wnull-dereference \
    -Wswitch-enum
# clang warns of {NULL} and of loops that it does not vectorise.
WARNINGS += $(if $(findstring clang,$(CC)),\
    -Wno-missing-field-initializers -Wno-pass-failed)
# Warnings are errors in CI: make WERROR=1.
WERROR ?= 0
WERROR_FLAG := $(if $(filter 1,$(WERROR)),-Werror)
OPTIMISE ?= -O3 -g
# The library does not abort: assertions are for instrumented builds.
NDEBUG := $(if $(SANITIZE),,-DNDEBUG)
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
# A largest value found by fmax in a loop is an internal error of gcc 12.
CFLAGS_aarch64 := -fno-builtin-fmax
CFLAGS_ALL := -std=c11 -D_POSIX_C_SOURCE=200809L $(CPPFLAGS) $(OPTIMISE) $(NDEBUG) -fPIC \
    -fvisibility=hidden -ffp-contract=off -fno-math-errno $(CFLAGS_$(MACHINE)) \
    $(WARNINGS) $(WERROR_FLAG) $(SANITIZE) -Iinclude -Isrc \
    $(DEPS:%=-isystem %/include) -MMD -MP $(CFLAGS)
# gcc vectorises the loops of src/op/simd/kernels only when it need not keep errno
# and the order of floating-point traps; neither changes a result.
FLAGS_simd := -fopenmp-simd -fno-math-errno -fno-trapping-math
# Partial redundancy elimination puts a branch into a loop that interpolates.
FLAGS_pairs := $(FLAGS_simd) $(if $(findstring clang,$(CC)),,-fno-tree-pre)
# The instruction sets of ETX_CPU_LEVELS, src/base/cpu.h.
ISAS_x86_64 := avx2 avx512
ISAS_aarch64 := neon
ISAS := $(ISAS_$(MACHINE))
FLAGS_neon := -DETX_ISA=neon
FLAGS_avx2 := -mavx2 -mfma -DETX_ISA=avx2
FLAGS_avx512 := -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma \
    -mprefer-vector-width=512 -DETX_ISA=avx512
# Products alone have versions for these; those in tiles name their instructions.
FLAGS_avx512bf16 := $(FLAGS_avx512)bf16 -mavx512bf16
FLAGS_avx512vnni := $(FLAGS_avx512)vnni -mavx512vnni -DETX_INT16=1
FLAGS_avx2int16 := $(FLAGS_avx2)int16 -DETX_INT16=1
PRODUCTS := avx512bf16 avx512vnni avx2int16
LDLIBS_LIB := -lz -lpthread -lm
# Tables of addresses are read-only once the library is loaded.
LDFLAGS_HARDEN := -Wl,-z,relro,-z,now,-z,noexecstack $(DEPS:%=-L%/lib)
# A library calls itself, also where the program has another copy of it.
LDFLAGS_LIB := -shared -Wl,--version-script=lib/exatrkx.map \
    -Wl,-Bsymbolic-functions -Wl,-soname,libexatrkx.so.$(MAJOR) \
    -Wl,-z,defs -Wl,--exclude-libs,ALL $(LDFLAGS_HARDEN)

# Where the C library is glibc: names that its older versions have, too.
GLIBC_NAMES := $(if $(findstring __GLIBC__,$(shell \
    $(CC) -E -dM -include stdlib.h -x c /dev/null 2>/dev/null)),glibc_names)
LDFLAGS_LIB += $(GLIBC_NAMES:%=-Wl,--wrap=hypot)

# ----------------------------------------------------------------- sources --

ARCHS := $(patsubst src/arch/%/,%,$(sort $(dir $(wildcard src/arch/*/*.c))))
BACKENDS := $(patsubst src/%/,%,$(sort $(wildcard src/backend/*/)))
TRAIN := $(patsubst src/%/,%,$(sort $(wildcard src/train/*/)))
FOLDERS := base memory data op op/ref op/simd backend $(BACKENDS) arch $(ARCHS:%=arch/%) \
    stage stage/graph_construction stage/edge_classification \
    stage/track_building stage/helix stage/first_pass stage/first_pass/simd stage/completion \
    stage/track_fitting io eval train $(TRAIN) learn api
SOURCES := $(foreach folder,$(FOLDERS),$(wildcard src/$(folder)/*.c))
OBJECTS := $(SOURCES:src/%.c=$(BUILD)/obj/%.o) $(BUILD)/obj/gen/archs.o
# First, and the products first of all: they take longest to compile.
SIMD := $(patsubst %,src/op/simd/kernels/%.c,gemm \
    $(filter-out gemm,$(basename $(notdir $(wildcard src/op/simd/kernels/*.c)))))
OBJECTS := $(foreach isa,$(ISAS),$(SIMD:src/%.c=$(BUILD)/obj/$(isa)/%.o)) $(OBJECTS)
ifeq ($(MACHINE),x86_64)
OBJECTS := $(PRODUCTS:%=$(BUILD)/obj/%/op/simd/kernels/gemm.o) \
    $(BUILD)/obj/avx512/op/simd/amx/gemm.o \
    $(BUILD)/obj/avx2/stage/first_pass/simd/pairs.o $(OBJECTS)
endif

# With CUDA=1 the folder cuda/ replaces src/backend/cuda_absent.c. The runtime
# is linked in; cuBLASLt is loaded with the first context on a device. Objects are for
# compute capability 8.0 and 9.0, and PTX for later ones.
CUDA_HOME ?= /usr/local/cuda
NVCC ?= $(CUDA_HOME)/bin/nvcc
CUDA_ARCHS := -gencode arch=compute_80,code=sm_80 \
    -gencode arch=compute_90,code=[sm_90,compute_90]
CUDA_FLAGS := -std=c++17 -O3 -lineinfo -fmad=false $(CUDA_ARCHS) \
    $(WERROR_FLAG:%=% all-warnings) -Xptxas --warn-on-spills -I. -Iinclude \
    -Isrc -MMD -Xcompiler -Wall,-Wextra,-fPIC,-fvisibility=hidden
ifeq ($(CUDA),1)
CUDA_SOURCES := $(wildcard cuda/backend/*.cu cuda/op/*.cu)
OBJECTS := $(filter-out %/backend/cuda_absent.o,$(OBJECTS)) \
    $(CUDA_SOURCES:%.cu=$(BUILD)/obj/%.o)
LDLIBS_CUDA := -L$(CUDA_HOME)/lib64 -lcudart_static -lrt -ldl \
    -Wl,-Bstatic -lstdc++ -Wl,-Bdynamic -Wl,-rpath,$(CUDA_HOME)/lib64
# The second folder: where PyPI's nvidia-cublas is, next to a wheel's exatrkx/lib.
LDLIBS_LIB += -Wl,-rpath,'$$ORIGIN:$$ORIGIN/../../nvidia/cu13/lib' \
    $(LDLIBS_CUDA)
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
LDFLAGS_DIST := -shared -Wl,--version-script=lib/exatrkx_dist.map \
    -Wl,-Bsymbolic-functions -Wl,-soname,libexatrkx_dist.so.$(MAJOR) -Wl,-z,defs \
    $(LDFLAGS_HARDEN) -Wl,-rpath,'$$ORIGIN'
# NCCL comes with the toolkit or next to it; NCCL=0: none.
NCCL ?= auto
ifneq ($(and $(filter 1,$(CUDA)),$(filter-out 0,$(NCCL)),$(wildcard $(CUDA_HOME)/include/nccl.h)),)
DIST_NCCL := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard cuda/dist/*.c))
NCCL_LDLIBS := -L$(CUDA_HOME)/lib64 -L$(CUDA_HOME)/lib -lnccl \
    -lcudart_static -lrt -ldl -Wl,-rpath,$(CUDA_HOME)/lib64:$(CUDA_HOME)/lib
else
DIST_NCCL := $(BUILD)/obj/dist/nccl_absent.o
endif
ifeq ($(HAVE_MPI),1)
# What the wrapper of any MPI passes on; its headers are not ours to warn about.
MPI_FLAGS := $(shell $(MPICC) -show)
MPI_CFLAGS := $(patsubst -I%,-isystem %,$(filter -I% -D%,$(MPI_FLAGS)))
MPI_LDLIBS := $(filter -L% -l% -Wl$(comma)%,$(MPI_FLAGS))
endif

PROGRAM_SOURCES := $(wildcard examples/etx-*.c)
PROGRAMS := $(PROGRAM_SOURCES:examples/%.c=$(BUILD)/examples/%)
PROGRAM_PARTS := $(filter-out $(PROGRAM_SOURCES),$(wildcard examples/*.c))
PROGRAM_OBJECTS := $(PROGRAM_PARTS:examples/%.c=$(BUILD)/obj/examples/%.o)
SMALL_PROGRAMS := $(patsubst examples/%.c,$(BUILD)/examples/%, \
    $(wildcard examples/small/*.c))

# From a program to the library: of an installation, then of this build.
RPATH_INSTALLED := $(shell realpath -ms --relative-to=$(PREFIX)/bin $(LIBDIR))
LDFLAGS_PROGRAM = $(LDFLAGS_HARDEN) -Wl,-rpath,'$$ORIGIN/$(RPATH_INSTALLED)' \
    -Wl,-rpath,'$$ORIGIN/$(shell realpath -m --relative-to=$(@D) $(LIB))'


# ----------------------------------------------------------------- targets --

.PHONY: all help lib programs wheel deps demo docs declarations format clean
.DELETE_ON_ERROR:

all: lib programs

help:
	@echo 'make              the library (lib/) and the programs (build/examples/)'
	@echo 'make demo         find the tracks of the shipped events'
	@echo 'make install      PREFIX=/usr/local DESTDIR=; make uninstall'
	@echo 'make docs         the reference of the C interface (Doxygen)'
	@echo 'make format       apply .clang-format'
	@echo 'make declarations the C interface for Python, from the headers'
	@echo 'make wheel        what a wheel of Python carries: library and programs'
	@echo 'make dist bundle  an archive of the sources; a folder for a bare GPU machine'
	@echo 'make sbom         what the libraries and programs are linked with (SPDX)'
	@echo 'make clean'
	@echo
	@echo 'make check        every test; SUITE=NAME: one suite'
	@echo 'make check-fast   the quick suites and the lints'
	@echo 'make lint abi     static analysis; exported symbols'
	@echo 'make lines        lines of product, studies, tests and others, by folder'
	@echo 'make asan tsan coverage fuzz check-kill   minutes each; asan, tsan: SUITE=NAME'
	@echo 'make check-oom check-io   every allocation fails; every call on files'
	@echo 'make check-mutants        share of broken sources that a suite finds'
	@echo 'make check-soak check-schedule   10 000 events; threads that yield at random'
	@echo 'make check-soak-training check-large check-leaks   an hour; 10 million hits; programs'
	@echo 'make check-hosts check-roots   musl, aarch64; bare Debian systems, over an hour'
	@echo 'make check-growth         time by the number of hits, of hostile events too'
	@echo 'make check-sample check-all   the sample in CI; everything, over an hour'
	@echo 'make gpu          build with CUDA=1, test and time on a GPU; one report'
	@echo 'make resources    registers and spills of the CUDA kernels'
	@echo 'make bench        time every stage and operator'
	@echo 'make bench-regression   what got slower on this kind of processor'
	@echo 'make bench-peers bench-ranks   the same for other software'
	@echo 'make results      the tables of the docs; TABLE=NAME: one; results-stale'
	@echo
	@echo 'CC=clang CUDA=1 MPI=0 WERROR=1 OPTIMISE="-O0 -g" BUILD=folder LIB=folder'

lib: $(SHARED) $(STATIC) $(DIST_SHARED) $(DIST_STATIC)
programs: $(PROGRAMS) $(SMALL_PROGRAMS)

# One command that installs what is missing, or says which one would.
deps:
	@test/setup.sh $(PACKAGES)

demo: deps
	@$(MAKE) --no-print-directory all
	@examples/demo.sh $(BUILD)

# $(call compile,flags): one object from one source.
compile = @mkdir -p $(@D) && echo "  cc    $@" && \
    $(CC) $(CFLAGS_ALL) $(1) -c $< -o $@
# $(call link,flags and libraries): the objects and archives of the rule.
link = @mkdir -p $(@D) && echo "  link  $@" && \
    $(or $(LINKER),$(CC)) $(SANITIZE) $(LDFLAGS) $(filter %.o,$^) \
    $(filter %.a,$^) $(1) -o $@

$(BUILD)/obj/%.o: src/%.c
	$(call compile)
$(BUILD)/obj/dist/mpi.o: src/dist/mpi.c
	$(call compile,$(MPI_CFLAGS))
$(BUILD)/obj/dist/mpi_open.o: src/dist/mpi_open.c
	$(call compile,$(MPI_CFLAGS))
$(BUILD)/obj/cuda/%.o: cuda/%.c
	$(call compile,-isystem $(CUDA_HOME)/include)
$(BUILD)/obj/stage/first_pass/simd/%.o: src/stage/first_pass/simd/%.c
	$(call compile,$(FLAGS_pairs))
$(BUILD)/obj/avx2/stage/first_pass/simd/%.o: src/stage/first_pass/simd/%.c
	$(call compile,$(FLAGS_pairs) $(FLAGS_avx2))
define for_isa
$$(BUILD)/obj/$(1)/%.o: src/%.c
	$$(call compile,$$(FLAGS_simd) $$(FLAGS_$(1)))
endef
$(foreach isa,$(ISAS) $(PRODUCTS),$(eval $(call for_isa,$(isa))))
$(BUILD)/obj/gen/%.o: $(BUILD)/gen/%.c
	$(call compile)
$(BUILD)/obj/lib/%.o: lib/%.c
	$(call compile)
$(BUILD)/obj/examples/%.o: examples/%.c
	$(call compile,-Iexamples)
$(BUILD)/obj/examples/program.o: examples/program.c $(BUILD)/gen/installed
	$(call compile,-Iexamples -DETX_DATA_DIR='"$(DATADIR)"')
# Two folders are compiled into the programs: again when one changes.
.PHONY: changed
$(BUILD)/gen/installed: $(if $(filter-out $(DATADIR) $(RPATH_INSTALLED),\
    $(shell cat $(BUILD)/gen/installed 2>/dev/null)),changed)
	@mkdir -p $(@D) && echo '$(DATADIR) $(RPATH_INSTALLED)' > $@
# New when HAVE_MPI changes.
$(BUILD)/gen/mpi-%:
	@mkdir -p $(@D) && rm -f $(BUILD)/gen/mpi-* && touch $@
$(BUILD)/obj/cuda/%.o: cuda/%.cu
	@mkdir -p $(@D) && echo "  nvcc  $@"
	@$(NVCC) $(CUDA_FLAGS) -Xptxas -v -c $< -o $@ 2> $@.ptxas || \
	    { cat $@.ptxas >&2; rm -f $@; exit 1; }
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
	$(call link,$(LDFLAGS_LIB) $(LDLIBS_LIB))
$(SHARED): $(SONAME)
	@ln -sf $(notdir $<) $@
$(STATIC): $(OBJECTS)
	@mkdir -p $(@D) && echo "  ar    $@" && rm -f $@ && ar rcs $@ $(OBJECTS)

$(DIST_SONAME): $(DIST_OBJECTS) $(DIST_MPI) $(DIST_NCCL) $(SHARED) \
    lib/exatrkx_dist.map $(BUILD)/gen/mpi-$(HAVE_MPI)
	$(call link,$(LDFLAGS_DIST) \
	    -L$(LIB) -lexatrkx $(MPI_LDLIBS) $(NCCL_LDLIBS) -lpthread -lm)
$(DIST_SHARED): $(DIST_SONAME)
	@ln -sf $(notdir $<) $@
$(DIST_STATIC): $(DIST_OBJECTS) $(BUILD)/obj/dist/mpi_absent.o $(DIST_NCCL)
	@mkdir -p $(@D) && echo "  ar    $@" && rm -f $@ && ar rcs $@ $^

$(BUILD)/examples/etx-train: LDLIBS_PROGRAM := -lexatrkx_dist
$(BUILD)/examples/etx-train: $(DIST_SHARED)
$(BUILD)/examples/small/%: $(BUILD)/obj/examples/small/%.o $(SHARED)
	@mkdir -p $(@D) && echo "  link  $@"
	@$(CC) $(SANITIZE) $(LDFLAGS) $< -L$(LIB) -lexatrkx $(LDFLAGS_PROGRAM) -o $@
$(BUILD)/examples/%: $(BUILD)/obj/examples/%.o $(PROGRAM_OBJECTS) $(SHARED)
	@mkdir -p $(@D) && echo "  link  $@"
	@$(CC) $(SANITIZE) $(LDFLAGS) $< $(PROGRAM_OBJECTS) -L$(LIB) $(LDLIBS_PROGRAM) \
	    -lexatrkx -lz -lm -lpthread $(LDFLAGS_PROGRAM) -o $@

# What a wheel of Python carries: the library, and programs that find it in ../lib,
# run with a glibc as old as the library does, and have ranks that are threads.
WHEEL_PROGRAMS := $(PROGRAMS:$(BUILD)/examples/%=$(BUILD)/wheel/%)
wheel: $(SONAME) $(WHEEL_PROGRAMS)
$(WHEEL_PROGRAMS): $(BUILD)/wheel/%: $(BUILD)/obj/examples/%.o $(PROGRAM_OBJECTS) \
    $(GLIBC_NAMES:%=$(BUILD)/obj/lib/%.o) $(BUILD)/obj/dist/nccl_absent.o \
    $(DIST_STATIC) $(SHARED)
	$(call link,$(LDFLAGS_HARDEN) $(GLIBC_NAMES:%=-Wl$(comma)--wrap=hypot) -L$(LIB) \
	    -lexatrkx -lz -lm -lpthread -Wl$(comma)-rpath$(comma)'$$ORIGIN/../lib')

# The C interface to docs/html; with pdoc the Python package to docs/html/python.
docs: $(SHARED)
	@rm -rf docs/html
	@if python3 -c 'import pdoc' 2>/dev/null; then \
	    WITH_PYTHON=1 doxygen docs/Doxyfile && \
	    ETX_LIBRARY=$(SHARED) PYTHONPATH=bindings/python \
	        python3 -m pdoc -o docs/html/python exatrkx exatrkx.plotting; \
	else doxygen docs/Doxyfile && \
	    echo 'docs: no pages of the Python package: pip install pdoc'; fi

# The C interface for Python, from the headers; test/python compares.
declarations:
	@python3 bindings/python/generate_declarations.py

format:
	@git ls-files '*.c' '*.h' '*.cu' '*.cuh' | xargs clang-format -i

# A source distribution of the Python package has none of them.
-include install.mk test.mk studies.mk

clean:
	rm -rf build lib/libexatrkx.so* lib/libexatrkx.a lib/libexatrkx_dist.*

-include $(shell find $(BUILD)/ -name '*.d' 2>/dev/null)
