# Measure what the Makefile builds: the figures of the docs, next to other software
# too. examples/studies/README.md describes the programs; none of them is a test.

.PHONY: bench bench-regression bench-peers bench-peers-deps bench-ranks results \
    results-stale

STUDIES := examples/studies
CHECKOP_BENCH := $(BUILD)/studies/checkop-bench
# One graph on several ranks.
RANKS_STUDIES := $(BUILD)/studies/sectors $(BUILD)/studies/graph-parallel

$(BUILD)/obj/$(STUDIES)/%.o: $(STUDIES)/%.c
	$(call compile,-Itest/unit -Itest/checkop)
# The cases of the tests of operators, at sizes of a real event.
$(CHECKOP_BENCH): $(patsubst %,$(BUILD)/obj/$(STUDIES)/%.o,checkop_bench probe ratios) \
    $(filter-out $(BUILD)/obj/test/checkop/test_%,\
    $(filter $(BUILD)/obj/test/checkop/% %/cuda/shared_memory.o,$(TEST_OBJECTS))) \
    $(STATIC)
	$(call link,$(LDLIBS_LIB) $(LDLIBS_CHECK))
$(BUILD)/studies/training-memory: $(BUILD)/obj/$(STUDIES)/training_memory.o
$(BUILD)/studies/messages: $(BUILD)/obj/$(STUDIES)/messages.o
$(BUILD)/studies/training-memory $(BUILD)/studies/messages: $(STATIC)
	$(call link,$(LDLIBS_LIB))
$(BUILD)/studies/label-methods: $(BUILD)/obj/$(STUDIES)/label_methods.o $(STATIC)
	$(call link,$(LDLIBS_LIB))
# A study, whose sums may be in any order and are fast with AVX2. Not -ffast-math, which
# also rounds small numbers to zero in the whole process that loads it.
ANY_ORDER := -fno-math-errno -fno-trapping-math -fassociative-math -fno-signed-zeros
$(BUILD)/studies/hashed_pairs.so: $(STUDIES)/tables/hashed_pairs.c
	@mkdir -p $(@D) && echo "  cc    $@"
	@$(CC) -O3 -mavx2 -mfma $(ANY_ORDER) -shared -fPIC $(WARNINGS) $< -o $@
$(BUILD)/studies/sectors: $(BUILD)/obj/$(STUDIES)/sectors.o
$(BUILD)/studies/graph-parallel: $(BUILD)/obj/$(STUDIES)/graph_parallel.o
$(RANKS_STUDIES): $(DIST_SHARED) $(SHARED)
	$(call link,-L$(LIB) -lexatrkx_dist -lexatrkx -lpthread -lm $(RPATH_LIB))

bench: all $(CHECKOP_BENCH)
	@$(CHECKOP_BENCH)
	@$(BUILD)/examples/etx-bench --hits 10000,30000,100000 \
	    --model examples/models/default.safetensors

# What got slower, by times in units of a probe of the machine; STORE=1 stores
# them for this kind of processor.
bench-regression: $(CHECKOP_BENCH)
	@$(STUDIES)/regression.sh $< $(if $(filter 1,$(STORE)),store)

# The tables of the docs (results.py): all, or TABLE; EVENTS is the folder of the
# simulated sets.
EVENTS ?=
TABLE ?=
RESULTS = ETX_LIBRARY=$(abspath $(SHARED)) PYTHONPATH=$(STUDIES):bindings/python \
    PYTHONDONTWRITEBYTECODE=1 EVENTS=$(EVENTS) python3 $(STUDIES)/results.py
results results-stale: deps
	@$(MAKE) --no-print-directory all $(RANKS_STUDIES)
	@$(RESULTS) $(if $(filter results-stale,$@),--stale) $(TABLE)

# Other software: the Python (any that has peers/requirements.txt), its arguments,
# the C of the benchmark; PEERS_CPU=avx2 holds all to these instructions.
PEERS := $(STUDIES)/peers
PEERS_CPU ?= native
PEERS_OUT ?= $(BUILD)/bench$(if $(filter avx2,$(PEERS_CPU)),/avx2)
PEERS_VENV ?= $(BUILD)/bench/venv
PEERS_ARGS ?=
PEERS_MARCH_avx2 := haswell
PEERS_HELD_avx2 := ETX_CPU=avx2 ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 \
    MKL_ENABLE_INSTRUCTIONS=AVX2 OPENBLAS_CORETYPE=Haswell FAISS_OPT_LEVEL=AVX2 \
    LIBXSMM_TARGET=hsw
LDLIBS_own_product = $(STATIC) $(LDLIBS_LIB)
LDLIBS_xsmm_product = $(shell pkg-config --libs libxsmm) -lblas -ldl -lpthread
PEERS_NATIVE := $(PEERS_OUT)/limits.so $(PEERS_OUT)/nanoflann_pairs.so \
    $(PEERS_OUT)/xsmm_product.so $(PEERS_OUT)/own_product.so
PEERS_FLAGS := -O3 -march=$(or $(PEERS_MARCH_$(PEERS_CPU)),native) -fopenmp -shared -fPIC
PEERS_PYTHON = $(PEERS_HELD_$(PEERS_CPU)) ETX_LIBRARY=$(abspath $(SHARED)) \
    ETX_NATIVE=$(abspath $(PEERS_OUT)) PYTHONDONTWRITEBYTECODE=1 \
    PYTHONPATH=$(STUDIES):bindings/python $(PEERS_VENV)/bin/python

bench-peers-deps: deps
	@test/setup.sh python3-venv g++ libnanoflann-dev libxsmm-dev libblas-dev
$(PEERS_VENV)/bin/python:
	@python3 -m venv $(PEERS_VENV)
	@$(PEERS_VENV)/bin/pip install -q -r $(PEERS)/requirements.txt || \
	    { rm -f $@; exit 1; }
$(PEERS_OUT)/own_product.so: $(STATIC)
$(PEERS_OUT)/%.so: $(PEERS)/native/%.c
	@mkdir -p $(@D) && echo "  cc    $@"
	@$(CC) -std=c11 $(PEERS_FLAGS) $(WARNINGS) -Iinclude -Isrc $< -o $@ \
	    $(LDLIBS_$*)
$(PEERS_OUT)/%.so: $(PEERS)/native/%.cpp
	@mkdir -p $(@D) && echo "  c++   $@"
	@$(CXX) -std=c++17 $(PEERS_FLAGS) -Wall -Wextra $< -o $@
bench-peers: bench-peers-deps
	@$(MAKE) --no-print-directory lib $(PEERS_NATIVE) $(PEERS_VENV)/bin/python
	@$(PEERS_PYTHON) -m peers --out $(PEERS_OUT) $(PEERS_ARGS)
# Training on one and two processes, compared with PyTorch's DDP; RANKS_ARGS
# goes to peers/ranks.py.
RANKS_ARGS ?=
bench-ranks: bench-peers-deps
	@$(MAKE) --no-print-directory lib $(PEERS_VENV)/bin/python
	@$(PEERS_PYTHON) -m peers.ranks $(RANKS_ARGS)
