# volfilter: `make` builds build/volfilter, `make demo` shows it at work, `make test` tests it. GNU make.
#
# Variables: CC, CFLAGS, CPPFLAGS, LDFLAGS, LDLIBS as usual; PREFIX, DESTDIR; BUILD (where everything built goes);
# WERROR=-Werror lets no warning pass; V=1 shows whole commands.

PREFIX ?= /usr/local
BUILD ?= build
CFLAGS ?= -O3 -g
WERROR ?=
PKG_CONFIG ?= pkg-config

.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-print-directory
say = $(if $(V),,@echo '  $(1)' && )

# ---- flags -----------------------------------------------------------------------------------------------------

machine := $(shell $(CC) -dumpmachine 2>/dev/null)
is_x86 := $(filter x86_64-%,$(machine))
is_aarch64 := $(filter aarch64%,$(machine))
is_clang := $(findstring clang,$(shell $(CC) --version 2>/dev/null))

# The result is the same bits on every machine: no contraction, none of the fast-math liberties. What is given up,
# errno and traps, is what keeps rounding and square roots from being vectorised. By the letter of C11 gcc computes
# with floats in double where the processor once did (s390x).
fast_math := $(filter -Ofast -ffast-math -funsafe-math-optimizations -fassociative-math -freciprocal-math \
    -ffinite-math-only,$(CC) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS))
$(if $(fast_math),$(error $(fast_math): results would differ from those of other builds; leave it out of CFLAGS))
NUMERICS := -ffp-contract=off -fno-math-errno -fno-trapping-math $(if $(is_clang),,-fexcess-precision=fast)
# snprintf is used where text may be cut.
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wno-format-truncation \
    $(WERROR)

# libtiff and libpng, wherever pkg-config finds them; else where the compiler looks anyway.
packages := libtiff-4 libpng expat zlib
package_cflags := $(shell $(PKG_CONFIG) --cflags $(packages) 2>/dev/null)
package_libs := $(shell $(PKG_CONFIG) --libs $(packages) 2>/dev/null)
ifeq ($(package_libs),)
package_libs := -ltiff -lpng -lexpat -lz
endif

DEFINES = -D_GNU_SOURCE $(patsubst %,-DVF_HAS_%,$(filter-out baseline,$(levels)))
INCLUDES := -I. -Isrc -I$(BUILD)/gen $(package_cflags)
clang_language := $(if $(is_clang),-Wno-unknown-warning-option -Wno-unknown-pragmas -Wno-pass-failed)
LANGUAGE := -std=c11 -fopenmp $(clang_language)
COMPILE = $(CC) $(LANGUAGE) $(DEFINES) $(CPPFLAGS) $(INCLUDES) $(CFLAGS) $(NUMERICS) $(WARNINGS)
LINK = $(CC) -fopenmp $(CFLAGS) $(LDFLAGS)
LIBS = $(package_libs) -ldl -lm $(LDLIBS)

# ---- what is built ---------------------------------------------------------------------------------------------

# Five sources are compiled several times over; every other file of these directories once.
real_types := f32 f64
integer_types := u8 i8 u16 i16
# Programs with sanitizers are for this machine, and have its best level.
sanitized := $(filter -fsanitize%,$(CFLAGS))
processor_level = $(if $(shell grep -w -m 1 avx512bw /proc/cpuinfo 2>/dev/null),v4,v3)
levels := baseline $(if $(is_x86),$(if $(sanitized),$(processor_level),v3 v4))
# SSE2 moves are enough: gcc 12 takes MMX registers for some, which x87 arithmetic, long double, then finds in use.
# Elsewhere gcc 12 parts the ways of a body that chooses by one condition several times, which is then not vectorised.
flags_baseline := $(if $(is_x86),-mno-mmx,$(if $(is_clang),,-fno-thread-jumps))
flags_v3 := -march=x86-64-v3
flags_v4 := -march=x86-64-v4 -mprefer-vector-width=512

# Of types and levels.
rows_of = $(foreach level,$(2),$(1:%=$(BUILD)/kernels/cpu_rows_%_$(level).o))
bodies_of = $(foreach level,$(2),$(foreach dim,2d 3d,$(1:%=$(BUILD)/kernels/cpu_bodies_%_$(dim)_$(level).o)))
all_rows_of = $(rows_of) $(bodies_of)
ifeq ($(PLAIN_ROWS),)
rows_real := $(real_types)
rows_levels := $(levels)
else
# A build with sanitizers has its own for float32 and the integer types at the best level, which reads furthest beyond
# the ends of rows; the others, of the same text, are those of the plain build in the directory PLAIN_ROWS.
rows_real := f32
rows_levels := $(lastword $(levels))
endif
row_objects := $(call all_rows_of,$(rows_real) $(integer_types),$(rows_levels))
plain_rows := $(patsubst $(BUILD)/%,$(PLAIN_ROWS)/%,$(filter-out $(row_objects), \
    $(call all_rows_of,$(real_types) $(integer_types),$(levels))))
cell_objects := $(foreach dim,2d 3d,$(real_types:%=$(BUILD)/kernels/cpu_cells_%_$(dim).o))
several_times := $(addprefix kernels/cpu_,rows.c rows_integer.c bodies.c bodies_integer.c cells.c)
sources := $(filter-out $(several_times),$(wildcard src/*.c filters/*.c kernels/*.c))
# What the run-time compiler reads; the program carries it.
kernel_texts := $(sort $(wildcard kernels/*.cu kernels/device*.h kernels/stencil*.h kernels/boundary.h \
    filters/stencils/*.h))
objects := $(sources:%.c=$(BUILD)/%.o) $(row_objects) $(cell_objects) $(BUILD)/gen/kernel_texts.o \
    $(BUILD)/gen/tuned_texts.o
# All but main: what the program, the tests, benchmarks and tools link with.
library := $(BUILD)/libvolfilter.a
library_objects := $(filter-out $(BUILD)/src/main.o,$(objects)) $(plain_rows)

test_objects := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/*.c))
cuda_test_objects := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/cuda/*.c)) \
    $(BUILD)/tests/pipeline.o $(BUILD)/tests/io_samples.o $(BUILD)/tests/leaks.o
fake_cuda_objects := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/fake_cuda/*.c))
tool_objects := $(BUILD)/gen/bench_texts.o \
    $(patsubst %.c,$(BUILD)/%.o,$(wildcard kernels/precompile/*.c tests/bench/*.c tests/compile/*.c tests/demo/*.c \
    tests/fuzz/*.c))

.PHONY: all
all: $(BUILD)/volfilter

.PHONY: help
help:
	@echo 'make             build $(BUILD)/volfilter'
	@echo 'make demo        install what is missing, build, filter a real stack and make a picture of it'
	@echo 'make test        install what is missing, build and run the tests'
	@echo 'make test-san    the same under the address and undefined-behaviour sanitizers'
	@echo 'make test-gpu    run the GPU tests on this machine'"'"'s GPU; TOOLS="memcheck racecheck" uses compute-sanitizer'
	@echo 'make test-large  filter 20 GiB in 1 GiB of memory; LARGE="MIB MEMORY CHAIN" for other sizes'
	@echo 'make fuzz        read and write damaged files until stopped; FUZZ="-max_total_time=60" or other libFuzzer arguments'
	@echo 'make test-peers  exchange files with tifffile and mrcfile (installed by pip), Bio-Formats and ImageJ'
	@echo 'make install     install into PREFIX=$(PREFIX), under DESTDIR; make uninstall removes it'
	@echo 'make precompiled compile the common GPU kernels, which make install then installs, for machines without NVRTC'
	@echo 'make lint        run clang-format, clang-tidy and shellcheck; make format formats the sources'
	@echo 'make compile-all compile GPU kernels of every kind that the schemes offer, for sm_75 to sm_120 (needs NVRTC, no GPU)'
	@echo 'make bench-cpu   measure the speed of every filter, beside a plain copy; BENCH=--help'
	@echo 'make bench-model measure every configuration of some stencils on the GPU, and how well the model ranks them'
	@echo 'make bench-peers measure other programs on the same images too; installs them'
	@echo 'make count       count instructions of small runs of every filter, beside those on record (valgrind)'
	@echo 'make bench-gpu   measure every stencil with every GPU scheme, beside a plain copy; BENCH=--help'
	@echo 'make man         generate man/volfilter.1 from the tables behind --help'
	@echo 'make clean       remove everything that was built'

$(BUILD)/volfilter: $(BUILD)/src/main.o
$(BUILD)/montage: $(BUILD)/tests/demo/montage.o
$(BUILD)/bench-cpu: $(patsubst %.c,$(BUILD)/%.o,$(filter-out tests/bench/bench_gpu%,$(wildcard tests/bench/*.c)))
$(BUILD)/bench-gpu: $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/bench/bench_gpu*.c)) $(BUILD)/gen/bench_texts.o \
    $(BUILD)/tests/bench/bench_case.o
$(BUILD)/unit-tests: $(test_objects)
# Every scheme's kernel has tests of its own.
scheme_tests := $(patsubst kernels/%.cu,tests/cuda/test_%.c,$(filter-out kernels/reduce.cu,$(wildcard kernels/*.cu)))
$(BUILD)/cuda-tests: $(cuda_test_objects) $(scheme_tests:%.c=$(BUILD)/%.o)
$(filter-out $(wildcard $(scheme_tests)),$(scheme_tests)):
	@echo "$@ is missing: every scheme of kernels/*.cu has tests of its own (README, Development)" >&2; exit 1
$(BUILD)/unit-tests $(BUILD)/cuda-tests: private LIBS := -lcriterion $(LIBS)
$(BUILD)/compile-kernels: $(BUILD)/tests/compile/compile_kernels.o
$(BUILD)/precompile: $(BUILD)/kernels/precompile/precompile.o
$(BUILD)/fuzz-io: $(BUILD)/tests/fuzz/fuzz_io.o
$(BUILD)/fuzz-io: private LIBS := -fsanitize=fuzzer $(LIBS)
programs := volfilter precompile montage bench-cpu bench-gpu unit-tests cuda-tests compile-kernels fuzz-io
$(programs:%=$(BUILD)/%): $(library)
	$(call say,LINK $@)$(LINK) -o $@ $(filter %.o,$^) $(library) $(LIBS)

$(library): $(library_objects)
	$(call say,AR $@)rm -f $@ && ar rcs $@ $(library_objects)

# The name of an object says how it is compiled: cpu_bodies_f32_3d_v4.
name_words = $(subst _, ,$*)
type_f32 := -DREAL_BITS=32
type_f64 := -DREAL_BITS=64
type_u8 := -DREAL_BITS=8 -DREAL=uint8_t -DCELL=VF_U8
type_i8 := -DREAL_BITS=8 -DREAL=int8_t -DCELL=VF_I8
type_u16 := -DREAL_BITS=16 -DREAL=uint16_t -DCELL=VF_U16
type_i16 := -DREAL_BITS=16 -DREAL=int16_t -DCELL=VF_I16
variant_defines = $(type_$(word 1,$(name_words))) $(patsubst %d,-DDIM=%,$(filter %d,$(name_words)))
level = $(lastword $(name_words))

define compile_rows
	@mkdir -p $(@D)
	$(call say,CC $@)$(COMPILE) $(flags_$(level)) $(variant_defines) -DVF_ROWS=vf_rows_$* -DVF_BODIES=vf_bodies_$* \
	    -DVF_LEVEL='"$(level)"' -MMD -MP -c -o $@ $<
endef
$(call rows_of,$(rows_real),$(rows_levels)): $(BUILD)/kernels/cpu_rows_%.o: kernels/cpu_rows.c
	$(compile_rows)
$(call rows_of,$(integer_types),$(rows_levels)): $(BUILD)/kernels/cpu_rows_%.o: kernels/cpu_rows_integer.c
	$(compile_rows)
$(call bodies_of,$(rows_real),$(rows_levels)): $(BUILD)/kernels/cpu_bodies_%.o: kernels/cpu_bodies.c
	$(compile_rows)
$(call bodies_of,$(integer_types),$(rows_levels)): $(BUILD)/kernels/cpu_bodies_%.o: kernels/cpu_bodies_integer.c
	$(compile_rows)

# Of rows, whose variables are gone, lines are all that a debugger finds: with -g the compiler takes half as long again.
$(row_objects): private override CFLAGS := $(CFLAGS:-g=-g1)

# The checks of faults that AddressSanitizer or the processor sees take the compiler long: tests, rows and the reference
# do without. Functions of rows with more than 500 accesses check by calls, not in place; registers are given out by
# function, not by loop. The reference does not call the C library for each multiply-add.
left_to_asan := -fno-sanitize=null -fno-sanitize=object-size -fno-sanitize=pointer-overflow
ifneq ($(sanitized),)
$(row_objects): private override CFLAGS += $(left_to_asan) -fno-sanitize=bounds -fno-sanitize=alignment \
    $(if $(is_clang),,-fira-region=one --param asan-instrumentation-with-call-threshold=500)
$(cell_objects): private override CFLAGS += $(left_to_asan) \
    $(if $(is_x86),$(if $(shell grep -w -m 1 fma /proc/cpuinfo 2>/dev/null),-mfma))
endif

# The reference is for checking: nothing is gained by vectorising it. Of tests most of the time is their compiler's.
# A constant of a stencil that is not written R(0.5) would make floats doubles.
$(cell_objects): private CFLAGS := $(CFLAGS:-O3=-O2) -Wdouble-promotion
$(test_objects) $(cuda_test_objects): private override CFLAGS := $(CFLAGS:-O3=-O1) $(if $(sanitized),$(left_to_asan))
$(cell_objects): $(BUILD)/kernels/cpu_cells_%.o: kernels/cpu_cells.c
	@mkdir -p $(@D)
	$(call say,CC $@)$(COMPILE) $(variant_defines) -DVF_CELLS=vf_cells_$* -MMD -MP -c -o $@ $<

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC $@)$(COMPILE) -MMD -MP -c -o $@ $<

# The stencil bodies, in the order of their table.
$(BUILD)/gen/stencil_bodies.h: filters/stencils.def
	@mkdir -p $(@D)
	$(call say,GEN $@)sed -n 's|^VF_STENCIL_DEF(\([a-z0-9_]*\),.*|#include "filters/stencils/\1.h"|p' $< > $@

$(BUILD)/gen/kernel_texts.c: kernels/embed.sh $(kernel_texts) $(BUILD)/texts.list
	@mkdir -p $(@D)
	$(call say,GEN $@)kernels/embed.sh vf_kernel_texts $(kernel_texts) > $@

$(BUILD)/gen/tuned_texts.c: kernels/embed.sh kernels/tuned.txt
	@mkdir -p $(@D)
	$(call say,GEN $@)kernels/embed.sh vf_tuned_texts kernels/tuned.txt > $@

bench_texts := $(wildcard tests/bench/stencils/*.h)
$(BUILD)/gen/bench_texts.c: kernels/embed.sh $(bench_texts)
	@mkdir -p $(@D)
	$(call say,GEN $@)kernels/embed.sh bench_texts $(bench_texts) > $@

$(BUILD)/gen/%_texts.o: $(BUILD)/gen/%_texts.c
	$(call say,CC $@)$(COMPILE) -MMD -MP -c -o $@ $<

# A driver and an NVRTC for machines without a GPU, in one: they count their calls together. Kernels are compiled
# as the tests are, with sanitizers or without, by the same compiler.
# Some checks are left out: they cost the compiler as much as all others, and AddressSanitizer sees the accesses.
# Clang's of functions' types needs a library for C++.
kernel_sanitizers = $(filter -fsanitize% -fno-sanitize%,$(CFLAGS)) $(left_to_asan) $(if $(is_clang),-fno-sanitize=function)
# With sanitizers the compiler takes most of the time, by far more when it optimises; without, -O1 takes it twice as
# long as -Og, and what runs is small. Atomic operations of AArch64 are else calls of a library.
plain_kernel_flags = -std=c++17 -fPIC -shared -nostdlib -fvisibility=hidden -fno-exceptions -fno-rtti \
    $(if $(is_aarch64),-mno-outline-atomics) $(NUMERICS) -Og
kernel_flags = $(plain_kernel_flags) $(if $(sanitized),-O0 -g1 $(kernel_sanitizers))
$(fake_cuda_objects): private DEFINES += -fPIC -fvisibility=hidden -DCUDA_ON_CPU='"$(abspath tests/cuda_on_cpu.h)"' \
    -DFAKE_NVRTC_CXX='"$(CC) -x c++"' -DFAKE_NVRTC_FLAGS='"$(kernel_flags)"' \
    -DFAKE_NVRTC_PLAIN_FLAGS='"$(plain_kernel_flags)"'

fake_cuda := $(BUILD)/fake-cuda/libcuda.so.1
$(fake_cuda): $(fake_cuda_objects)
	@mkdir -p $(@D)
	$(call say,LINK $@)$(LINK) -shared -o $@ $(fake_cuda_objects) -ldl -lpthread && ln -sf $(@F) $(@D)/libnvrtc.so.13

every_object := $(sort $(objects) $(test_objects) $(cuda_test_objects) $(fake_cuda_objects) $(tool_objects))
$(every_object): $(BUILD)/flags | $(BUILD)/gen/stencil_bodies.h $(BUILD)/headers-found
-include $(every_object:.o=.d)

# Files that change only when what they hold does: other flags compile anew, a file that is gone links anew.
$(BUILD)/flags: holds = $(COMPILE) $(LINK) $(LIBS) $(foreach level,$(levels),$(flags_$(level))) $(kernel_flags)
$(BUILD)/library.list: holds = $(library_objects)
$(BUILD)/tests.list: holds = $(test_objects) $(cuda_test_objects) $(fake_cuda_objects)
$(BUILD)/texts.list: holds = $(kernel_texts)
$(library): $(BUILD)/library.list
$(BUILD)/unit-tests $(BUILD)/cuda-tests $(fake_cuda): $(BUILD)/tests.list
$(BUILD)/flags $(BUILD)/library.list $(BUILD)/tests.list $(BUILD)/texts.list: always
	@mkdir -p $(@D)
	@printf '%s\n' '$(holds)' | cmp -s - $@ || printf '%s\n' '$(holds)' > $@

.PHONY: always
always:

# A missing library is named before the compiler trips over it.
$(BUILD)/headers-found:
	@mkdir -p $(@D)
	@need() { \
	    printf '#include <stdio.h>\n#include <%s>\n' $$1 | $(CC) -fopenmp $(CPPFLAGS) $(INCLUDES) -E - >/dev/null 2>&1 && return; \
	    echo "The header $$1 is missing. On Debian or Ubuntu: apt-get install $$2" >&2; exit 1; \
	}; \
	command -v $(firstword $(CC)) >/dev/null || { echo 'No C compiler: $(CC) is not found' >&2; exit 1; }; \
	need tiffio.h libtiff-dev; need png.h libpng-dev; need expat.h libexpat1-dev; need omp.h $(if $(is_clang),libomp-dev,gcc)
	@touch $@

# ---- tests -----------------------------------------------------------------------------------------------------

# Each starts make again, which then sees what was installed, on all processors unless told otherwise.
again = $(MAKE) $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))
.PHONY: test test-san demo
# CUDA_TESTS_SHARE=N: of the device's cases that need a kernel of their own, whose compiling is a third of all tests'
# time, one in N is run, the same ones each time, and each test's first one, but under sanitizers. CUDA_TESTS_SHARE=1
# runs all, as test-gpu does.
test: export CUDA_TESTS_SHARE ?= 40
test:
	@tests/install-deps build test
	+@$(again) run-tests run-compile-kernels

# Reports need functions and lines, -g1; following variables takes the compiler as long again.
SANITIZERS := -fsanitize=address,undefined -fno-sanitize-recover=all
# Kernels with sanitizers take longer to compile.
test-san: export CUDA_TESTS_SHARE ?= 80
test-san:
	@tests/install-deps build test
	+@$(again) rows
	+@$(again) run-tests BUILD=$(BUILD)/san PLAIN_ROWS=$(BUILD) CFLAGS='-O1 -g1 -fno-omit-frame-pointer $(SANITIZERS)'

.PHONY: rows
rows: $(row_objects)

.PHONY: run-tests run-compile-kernels
# What the stand-in has compiled is kept until a text changes that it may be of. The command line's cases with
# sanitizers take what those without have made.
kept_kernels := $(or $(PLAIN_ROWS),$(BUILD))/kept-kernels
$(kept_kernels)/begun: $(kernel_texts) tests/cuda_on_cpu.h tests/fake_cuda/machine.h
	rm -rf $(@D) && mkdir -p $(@D) && touch $@
run-tests: export FAKE_NVRTC_KEPT := $(abspath $(kept_kernels))
on_fake_cuda = LD_LIBRARY_PATH='$(abspath $(dir $(fake_cuda)))' VOLFILTER_CACHE='$(abspath $(BUILD)/cuda-cache)' \
    FAKE_CUDA_STRICT=1
# Results do not depend on the order of threads, nor on when work is done that nothing waits for; these set both
# themselves, or launch little.
with_orders_of_their_own := @(cuda_failures|cuda_device|fake_cuda|fake_driver|precompiled)/*|cuda_reduce/failures
# Criterion runs a process for each processor, here one more, since some wait for the clock.
run-tests: $(BUILD)/unit-tests $(BUILD)/cuda-tests $(fake_cuda) $(BUILD)/bench-gpu $(BUILD)/volfilter | \
    $(kept_kernels)/begun
	$(BUILD)/unit-tests --jobs $(shell expr $$(nproc) + 1)
	rm -rf $(BUILD)/cuda-cache
	$(on_fake_cuda) $(BUILD)/cuda-tests
	$(if $(sanitized),,$(on_fake_cuda) FAKE_CUDA_ORDER=reverse FAKE_CUDA_LATE=1 \
	    $(BUILD)/cuda-tests --filter '!($(with_orders_of_their_own))')
	$(on_fake_cuda) $(BUILD)/bench-gpu --size tiny --repeat 1 --only gol-9pt$(if $(sanitized),,,curl3d,gradient-u16) \
	    --scheme global-read:fuse=1 > /dev/null
	$(BUILD)/bench-gpu --plans --scheme plan > /dev/null
	VOLFILTER='$(abspath $(BUILD)/volfilter)' tests/cli/run

# After the tests, which take all processors themselves. Without NVRTC it says so and is done.
run-compile-kernels: $(BUILD)/compile-kernels | run-tests
	$(BUILD)/compile-kernels

.PHONY: test-gpu run-test-gpu
test-gpu:
	@tests/install-deps build test
	+@$(again) run-test-gpu

run-test-gpu: $(BUILD)/cuda-tests
	$(if $(TOOLS),tests/cuda/sanitize $(BUILD)/cuda-tests $(TOOLS),$(BUILD)/cuda-tests)

# Files of and for tifffile, mrcfile and libtiff's tools; pip installs the first two.
.PHONY: test-peers
test-peers: $(BUILD)/volfilter
	PEERS='$(abspath $(BUILD)/peers)' VOLFILTER='$(abspath $(BUILD)/volfilter)' tests/peers/run

# A stack larger than memory; the result takes 20 GiB of disk. LARGE is the script's arguments.
.PHONY: test-large
test-large: $(BUILD)/volfilter
	VOLFILTER='$(abspath $(BUILD)/volfilter)' tests/large/run $(LARGE)

# Damaged files, made from the test images until stopped, by clang's fuzzer. FUZZ is its arguments, such as
# -max_total_time=60 or a folder of other files.
FUZZED := -fsanitize=fuzzer-no-link,address,undefined
.PHONY: fuzz
fuzz: $(BUILD)/volfilter
	+@$(again) $(BUILD)/fuzz/fuzz-io BUILD=$(BUILD)/fuzz PLAIN_ROWS=$(BUILD) CC=clang CFLAGS='-O1 -g1 -fno-omit-frame-pointer $(FUZZED)'
	mkdir -p $(BUILD)/fuzz/files && cp testdata/*.tif testdata/*.png $(BUILD)/fuzz/files
	$(BUILD)/volfilter -f gaussian testdata/epi-time.tif $(BUILD)/fuzz/files/epi.mrc
	$(BUILD)/fuzz/fuzz-io -rss_limit_mb=2048 -timeout=20 -artifact_prefix=$(BUILD)/ $(FUZZ) $(BUILD)/fuzz/files

demo:
	@tests/install-deps build
	+@$(again) run-demo

.PHONY: run-demo
run-demo: $(BUILD)/volfilter $(BUILD)/montage
	@BUILD='$(BUILD)' tests/demo/run

.PHONY: compile-all
compile-all: $(BUILD)/compile-kernels
	$(BUILD)/compile-kernels --all

# The copies are by OpenMP's threads, which must not turn in circles while a filter runs after them.
.PHONY: bench-cpu
bench-cpu: export OMP_WAIT_POLICY = passive
bench-cpu: $(BUILD)/bench-cpu
	$(BUILD)/bench-cpu $(BENCH)

# Instructions do not depend on what else the machine does; those on record are gcc 12's.
.PHONY: count
count: $(BUILD)/volfilter
	@tests/install-deps count
	VOLFILTER='$(abspath $(BUILD)/volfilter)' tests/bench/count $(COUNT)

# Beside other programs, as far as Debian's packages of them, and pip's of ITK, can be had.
.PHONY: bench-peers
bench-peers: $(BUILD)/volfilter
	-@tests/install-deps peers
	-@[ -e $(BUILD)/peers ] || /usr/bin/python3 -m pip install --quiet --no-deps --target $(BUILD)/peers SimpleITK
	PYTHONPATH='$(abspath $(BUILD)/peers)' /usr/bin/python3 tests/bench/peers/run.py --volfilter '$(abspath $(BUILD)/volfilter)' $(BENCH)

.PHONY: bench-gpu bench-model
bench-gpu: $(BUILD)/bench-gpu
	$(BUILD)/bench-gpu $(BENCH)

bench-model: $(BUILD)/bench-gpu
	$(BUILD)/bench-gpu --model $(BENCH)

# ---- upkeep ----------------------------------------------------------------------------------------------------

.PHONY: man
man: $(BUILD)/volfilter
	$(BUILD)/volfilter --man > man/volfilter.1.new
	mv man/volfilter.1.new man/volfilter.1

formatted = $(wildcard $(foreach dir,src filters filters/stencils kernels kernels/precompile tests tests/bench tests/bench/stencils \
    tests/compile tests/cuda tests/demo tests/fake_cuda tests/fuzz, \
    $(dir)/*.[ch]) kernels/*.cu)

.PHONY: format
format:
	$(call say,clang-format)clang-format -i $(formatted)

.PHONY: lint
lint:
	@tests/install-deps build lint
	+@$(again) -O lint-format lint-tidy lint-rows lint-shell

.PHONY: lint-format lint-tidy lint-rows lint-shell
lint-format:
	$(call say,clang-format)clang-format --dry-run -Werror $(formatted)

# Flags follow "--" and are not a compilation data base: one set is right for all.
tidied = $(sources) $(wildcard kernels/precompile/*.c tests/demo/*.c tests/bench/*.c tests/compile/*.c tests/fuzz/*.c)
# The analyzer gives a function up after so many steps; by default they are 225000, which takes five times as long and
# reaches 1% more of the sources' blocks.
analyzer := -Xclang -analyzer-config -Xclang max-nodes=30000
tidy = clang-tidy --quiet $(1) -- $(analyzer) -std=c11 -fopenmp -Wno-unknown-pragmas $(DEFINES) $(INCLUDES)
lint-tidy: $(BUILD)/gen/stencil_bodies.h
	$(call say,clang-tidy)printf '%s\n' $(tidied) | xargs -P $$(nproc) -n 4 sh -c '$(call tidy,"$$@")' tidy

# The sources that are compiled several times over are read in one or two of their variants.
tidy_variant = $(call tidy,$(1)) $(2) -DVF_ROWS=rows -DVF_BODIES=bodies -DVF_CELLS=cells -DVF_LEVEL='""'
lint-rows: $(BUILD)/gen/stencil_bodies.h
	$(call say,clang-tidy of rows)$(call tidy_variant,kernels/cpu_bodies.c kernels/cpu_cells.c,$(type_f32) -DDIM=3)
	$(if $(V),,@)$(call tidy_variant,kernels/cpu_bodies.c kernels/cpu_cells.c,$(type_f64) -DDIM=2)
	$(if $(V),,@)$(call tidy_variant,kernels/cpu_bodies_integer.c,$(type_u8) -DDIM=2)
	$(if $(V),,@)$(call tidy_variant,kernels/cpu_rows.c,$(type_f32))
	$(if $(V),,@)$(call tidy_variant,kernels/cpu_rows_integer.c,$(type_u8))

lint-shell:
	$(call say,shellcheck)shellcheck -x .ci/run $(shell grep -lE '^#!/bin/(ba)?sh|^# shellcheck shell=' -r kernels tests)

# ---- installing ------------------------------------------------------------------------------------------------

# The usual kernels as PTX: this needs NVRTC and no GPU.
.PHONY: precompiled
precompiled: $(BUILD)/precompile
	rm -rf $(BUILD)/precompiled
	$(BUILD)/precompile $(BUILD)/precompiled.new
	mv $(BUILD)/precompiled.new $(BUILD)/precompiled

.PHONY: install uninstall clean
completions := bash-completion/completions/volfilter zsh/site-functions/_volfilter \
    fish/vendor_completions.d/volfilter.fish
precompiled_folder = $(DESTDIR)$(PREFIX)/share/volfilter/precompiled
install: $(BUILD)/volfilter
	install -D -m 755 $(BUILD)/volfilter '$(DESTDIR)$(PREFIX)/bin/volfilter'
	install -D -m 644 man/volfilter.1 '$(DESTDIR)$(PREFIX)/share/man/man1/volfilter.1'
	for shell in bash zsh fish; do $(BUILD)/volfilter --completion $$shell > $(BUILD)/completion.$$shell || exit; done
	install -D -m 644 $(BUILD)/completion.bash '$(DESTDIR)$(PREFIX)/share/$(word 1,$(completions))'
	install -D -m 644 $(BUILD)/completion.zsh '$(DESTDIR)$(PREFIX)/share/$(word 2,$(completions))'
	install -D -m 644 $(BUILD)/completion.fish '$(DESTDIR)$(PREFIX)/share/$(word 3,$(completions))'
	rm -rf '$(precompiled_folder)'
	if [ -d $(BUILD)/precompiled ]; then \
	    install -d -m 755 '$(precompiled_folder)' && install -m 644 $(BUILD)/precompiled/* '$(precompiled_folder)'; \
	fi

uninstall:
	rm -f '$(DESTDIR)$(PREFIX)/bin/volfilter' '$(DESTDIR)$(PREFIX)/share/man/man1/volfilter.1' \
	    $(completions:%='$(DESTDIR)$(PREFIX)/share/%')
	rm -rf '$(precompiled_folder)'

clean:
	rm -rf '$(BUILD)' demo-out
