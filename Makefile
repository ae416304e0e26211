# make         builds build/pznet, the libraries and the Python package
# make run     compiles the example network and applies it to a volume: network file, segmented stack, preview
# make check   builds and passes all tests
# make bench   times pznet beside other engines and repeats the papers' experiments (bench/README.md)
# make fuzz    fuzzes importers, compiler and volume readers (SECONDS each, 600 by default; or RUNS=100000 inputs each)
# make doc     builds the manual as a site, with Sphinx in a virtual environment of the build folder
# make neon    the kernels' tests and networks for ARM's NEON, under qemu (or says what it wants for that)
# make emulated  the tests of kernels for AVX-512 and AMX on any CPU with AVX2
# make races   the pool and the volume engine under the thread sanitizer
BUILD ?= build
SECONDS ?= 600
JOBS ?= $(shell nproc)
REPOSITORY ?=

.PHONY: all run check bench doc fuzz neon emulated races format clean dependencies test-dependencies

all: dependencies
	@cmake -S . -B $(BUILD) -G Ninja -DPZ_TESTS=OFF >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log
	@cmake --build $(BUILD) -j $(JOBS)

dependencies:
	@tools/dependencies.sh

test-dependencies:
	@tools/dependencies.sh --tests

run: all
	@examples/membrane/run.sh $(BUILD)

check: test-dependencies
	@cmake -S . -B $(BUILD)/check -G Ninja -DPZ_TESTS=ON -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O2 -DNDEBUG" >$(BUILD)-check.log 2>&1 || { cat $(BUILD)-check.log; exit 1; }
	@rm -f $(BUILD)-check.log
	@tests/python/venv.sh $(BUILD)/check & venv=$$!; cmake --build $(BUILD)/check -j $(JOBS); built=$$?; wait $$venv && exit $$built
	@tests/fuzz.sh --replay 4
	@tests/clang.sh
	@ctest --test-dir $(BUILD)/check --output-on-failure -j $(JOBS)

bench: all
	@bench/peers

doc:
	@doc/site/build.sh $(BUILD)/doc $(REPOSITORY)

fuzz: test-dependencies
	@tests/fuzz.sh $(if $(RUNS),--runs $(RUNS),$(SECONDS))

neon: test-dependencies
	@tests/neon.sh $(BUILD)/check || [ $$? = 77 ]

emulated: test-dependencies
	@tests/emulated.sh $(BUILD)/emulated

races: test-dependencies
	@tests/races.sh

format:
	git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	rm -rf $(BUILD) $(BUILD).log $(BUILD)-check.log
