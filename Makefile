# `make run` and `make test` need nothing but make and python3 ≥ 3.11 with venv; the first of
# either sets up .venv (several minutes, about 7 GB, packages from the configured index).

PYTHON ?= python3
AUDIO ?=
ARGS ?=

SHELL := /bin/sh
BIN := .venv/bin
STAMP := .venv/.set-up
CONSTRAINTS := .ci/constraints.txt

.DEFAULT_GOAL := help
.PHONY: help setup run bench bench-quick bench-speakers bench-peers test test-slow test-gpu lint golden picture nano policies clean \
  ami ami-sdm score-ami ami-mini tedlium earnings21 ls-long mls-long

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name text; \
	do printf '  make %-12s %s\n' "$$name" "$$text"; done

setup: $(STAMP) ## make .venv with everything; again when pyproject.toml or the constraints change

$(STAMP): pyproject.toml $(CONSTRAINTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo "murmur needs python 3.11 or newer; set PYTHON, such as: make setup PYTHON=python3.12" >&2; exit 1; }
	@echo "setting up .venv; the first time this takes several minutes" >&2
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) -e '.[embedded,dev]'
	@touch $(STAMP)

# The sample is a real conversation of two that pyannote.audio ships; its package is not imported.
FIND_SAMPLE := import importlib.util, pathlib; \
folders = importlib.util.find_spec("pyannote").submodule_search_locations; \
paths = [pathlib.Path(f) / "audio/sample/sample.wav" for f in folders]; \
print(next(p for p in paths if p.is_file()))

run: export RUN_AUDIO := $(AUDIO)
run: $(STAMP) ## transcribe AUDIO="path …" (default: the packaged sample) into out/; more flags: ARGS="…"
	@if [ -z "$$RUN_AUDIO" ]; then set -- "$$($(BIN)/python -c '$(FIND_SAMPLE)')"; \
	elif [ -e "$$RUN_AUDIO" ]; then set -- "$$RUN_AUDIO"; \
	else set -- $$RUN_AUDIO; fi; \
	started="$$(mktemp)"; status=0; \
	$(BIN)/murmur transcribe "$$@" -o out --format json,rttm,srt,txt $(ARGS) || status=$$?; \
	[ ! -d out ] || find out -name '*.txt' -newer "$$started" -exec printf '\n%s\n\n' {} \; -exec cat {} \; ; \
	rm -f "$$started"; exit $$status

PEERS ?= $(wildcard .venv-peers/bin/python)
ONLY ?=
BENCH = $(BIN)/python -m murmur_cli.bench.peers recipes/bench/$(RECIPE).toml -o bench \
  --audio $(or $(AUDIO),"$$($(BIN)/python -c '$(FIND_SAMPLE)')") \
  $(if $(PEERS),--peers "$(PEERS)") $(if $(ONLY),--only "$(ONLY)")

bench: RECIPE := full
bench: $(STAMP) ## Murmur beside other programs on AUDIO="path …", into bench/; ONLY=part,… PEERS=python
	@$(BENCH)

bench-quick: RECIPE := quick
bench-quick: $(STAMP) ## the same in a few minutes, not for claims
	@$(BENCH)

SPEAKER_DATA ?= ../shared/data/ami ../shared/data/long

bench-speakers: $(STAMP) ## errors of speakers beside peers; SPEAKER_DATA="folder …" with NAME.rttm beside NAME.flac
	@for folder in $(SPEAKER_DATA); do \
	  audio="$$(for turns in "$$folder"/*.rttm; do sound="$${turns%.rttm}.flac"; [ ! -f "$$sound" ] || printf '%s\n' "$$sound"; done)"; \
	  if [ -z "$$audio" ]; then echo "skipped $$folder: no NAME.flac with NAME.rttm there" >&2; continue; fi; \
	  $(BIN)/python -m murmur_cli.bench.peers recipes/bench/speakers.toml --audio $$audio \
	    -o "bench/speakers-$$(basename "$$folder")" $(if $(PEERS),--peers "$(PEERS)") || exit $$?; \
	done

bench-peers: ## make .venv-peers with the other programs, which Murmur itself never needs
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -r recipes/bench/peers.txt

test: $(STAMP) ## the tests that CI runs
	@$(BIN)/pytest

test-slow: $(STAMP) ## evidence that takes minutes
	@$(BIN)/pytest -m slow

test-gpu: $(STAMP) ## the kernels' tests on them compiled, on a machine with a CUDA device
	@$(BIN)/pytest -m gpu tests/kernel_ops

lint: $(STAMP) ## ruff, mypy and the import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

golden: $(STAMP) ## write the expected files of tests/golden and tests/cli anew; review the diff
	@$(BIN)/pytest tests/golden tests/cli/test_help.py tests/cli/test_score.py tests/unit/bench/test_report.py --refresh-golden
	@git --no-pager diff --stat -- tests/golden tests/cli/golden

picture: $(STAMP) ## draw README's picture from a run on the sample
	@$(BIN)/python docs/picture.py "$$($(BIN)/python -c '$(FIND_SAMPLE)')"

nano: export PYTHONPATH := recipes
nano: export OMP_NUM_THREADS := 1
nano: $(STAMP) ## train the small SpeechLLM of recipes/nano anew and measure it; goes on after a break
	$(BIN)/python -m nano.train
	$(BIN)/python -m nano.evaluate

POLICY_DATA ?= ../shared/data/ami

policies: export PYTHONPATH := recipes
policies: export OMP_NUM_THREADS := 1
policies: $(STAMP) ## every policy on Whisper (POLICY_DATA=folder) and on nano, with table and pictures; goes on after a break
	$(BIN)/python -m policies.evidence whisper-base --data "$(POLICY_DATA)"
	$(BIN)/python -m policies.evidence nano
	$(BIN)/python -m policies.report

# Recipes of corpora: get, transcribe, score, table. DATA=FOLDER names another place of the data,
# ARGS=--dry says what would be done.
DATA ?=
AMI_MINI ?=
BENCHMARK = PYTHONPATH=recipes $(BIN)/python -m data.benchmark

ami: $(STAMP) ## AMI test meetings, headset mix: download, transcribe, score, table beside published figures
	@$(BENCHMARK) ami-ihm --data "$(DATA)" $(ARGS)

ami-sdm: $(STAMP) ## the same with one distant microphone
	@$(BENCHMARK) ami-sdm --data "$(DATA)" $(ARGS)

score-ami: $(STAMP) ## score and table of what make ami has transcribed
	@$(BENCHMARK) ami-ihm --data "$(DATA)" --steps score $(ARGS)

ami-mini: $(STAMP) ## the way of make ami on ../shared/data/ami or AMI_MINI=FOLDER, without a network
	@$(BENCHMARK) ami-mini --data "$(or $(AMI_MINI),$(DATA))" $(ARGS)

tedlium earnings21 ls-long mls-long: $(STAMP)
	@$(BENCHMARK) $(subst tedlium,tedlium3,$@) --data "$(DATA)" $(ARGS)

tedlium: ## TED-LIUM 3 test talks
earnings21: ## Earnings-21 calls
ls-long: ## LibriSpeech-Long, test-clean
mls-long: ## recordings joined from Multilingual LibriSpeech

clean: ## remove caches, build leftovers and out/, but not .venv
	rm -rf out bench build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find murmur_cli kernels tests -name __pycache__ -type d -prune -exec rm -rf {} +
