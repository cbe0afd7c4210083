# make help lists the targets.

GO    ?= go
# The same flags as in .ci/flags, which gives the reasons.
export CGO_ENABLED := 0
export GOFLAGS := $(shell $(GO) env GOFLAGS)
ifeq ($(findstring disable_grpc_modules,$(GOFLAGS)),)
GOFLAGS := -trimpath -tags=disable_grpc_modules,grpcnotrace,minimal,arrow_json_stdlib,urfave_cli_no_docs -vet=off -gcflags=all=-dwarf=false -ldflags=-s $(GOFLAGS)
endif
COUNT ?= 3
SEEDS ?= 2
COMPARED ?= 1600
LARGE    ?= 8000
EPISODES ?= 1000
ROWS  ?= 100000
TRAJECTORIES ?= 400
KILLS  ?= 4
STORES ?= minio gcs azure
# Benchmarks keep their data under BENCH for the next run, and run each program ROUNDS times.
BENCH  ?= runs/bench
GB     ?= 1
ROUNDS ?= 3

.PHONY: all help build install release gnu-tar wheels demo demo-train test check bench bench/score bench/rewards bench/submit bench/rollout bench/open bench/shards bench/group bench/curate bench/import bench/merge bench/export bench/view bench/remote bench/recorder bench/gateway bench/rounds bench/scale bench/all view/shots stores slurm airflow ray docs versions golden chaos chaos-rollout chaos-stages chaos-submit learn learn/torch learn/credit llama vllm shape clean FORCE
all: build

# Prints the targets and their ## comments, below the ##@ headings.
help:
	@echo "make TARGET [VARIABLE=VALUE]...; the values in parentheses are examples"
	@awk -F ':.* ## ' '/^##@ / { print "\n" substr($$0, 5) } /^[a-z].*: .*## / { printf "  %-17s %s\n", $$1, $$2 }' Makefile

##@ Build

VERSION = $(shell git describe --tags --always --dirty 2>/dev/null)
COMMIT  = $(shell git rev-parse --short=12 HEAD 2>/dev/null)
DATE    = $(shell git log -1 --format=%cs 2>/dev/null)
BUILD   = -ldflags \
          "-s -w -X main.releaseVersion=$(VERSION) -X main.releaseCommit=$(COMMIT) -X main.releaseDate=$(DATE)"

build: bin/rollmill bin/tictactoe ## build bin/rollmill and bin/tictactoe
bin/rollmill: FORCE
	@[ -e $@ ] || echo "building $@: the first build compiles the dependencies and takes some minutes" >&2
	@$(GO) build $(BUILD) -o $@ ./cmd/rollmill
bin/tictactoe: FORCE
	@$(GO) build -ldflags "-s -w" -o $@ ./cmd/tictactoe

PLATFORMS ?= linux-amd64 linux-arm64 darwin-amd64 darwin-arm64
SHELLS    := bash zsh
TAR       ?= $(shell command -v gtar || command -v tar)
SHA256    := $(shell command -v sha256sum || echo shasum -a 256)
BILL      := github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
# The same binaries give the same bytes: the date of everything is the commit's.
release: gnu-tar bin/rollmill $(PLATFORMS:%=bin/release/rollmill-%) ## build archives, bills of materials and SHA256SUMS into bin/release (PLATFORMS=...)
	@rm -rf bin/release/*.tar.gz bin/release/*.json bin/release/files
	@mkdir bin/release/files && cp README.md LICENSE bin/release/files && cp cmd/rollmill/licences.txt bin/release/files/LICENCES.txt
	@for shell in $(SHELLS); do bin/rollmill completion $$shell > bin/release/files/rollmill.$$shell || exit; done
	@set -e; for binary in bin/release/rollmill-*; do \
	  [ -f $$binary ] || continue; platform=$${binary#bin/release/rollmill-}; \
	  name=rollmill-$(VERSION)-$$platform; echo "release: $$name"; \
	  $(GO) run $(BILL) bin -json -std -notimestamp -noserial -version '$(VERSION)' bin/release/rollmill-$$platform > bin/release/bill; \
	  python3 .ci/bill.py '$(DATE)' pipelines/look/page/static/*.min.* < bin/release/bill > bin/release/$$name.cdx.json; \
	  cp bin/release/rollmill-$$platform bin/release/files/rollmill; chmod 644 bin/release/files/*; chmod 755 bin/release/files/rollmill; \
	  (cd bin/release/files && LC_ALL=C $(TAR) -cf ../$$name.tar --format=ustar --mtime='$(DATE) 00:00:00Z' \
	    --owner=0 --group=0 --numeric-owner --transform="s,^,$$name/," -- *); \
	  gzip -9n bin/release/$$name.tar; \
	done
	@rm -r bin/release/files bin/release/bill
	@cd bin/release && $(SHA256) $$(LC_ALL=C ls *.cdx.json *.tar.gz) > SHA256SUMS
gnu-tar:
	@$(TAR) --version | grep -q 'GNU tar' || { echo "release: install GNU tar (on macOS: brew install gnu-tar), or name it with TAR=" >&2; exit 1; }
bin/release/rollmill-%: FORCE
	GOOS=$(word 1,$(subst -, ,$*)) GOARCH=$(word 2,$(subst -, ,$*)) $(GO) build $(BUILD) -o $@ ./cmd/rollmill

install: bin/rollmill ## install the command and the Python module of this clone into the Python environment that is active
	@rm -rf bin/install
	@python3 cmd/python/wheel.py --version '$(VERSION)' --out bin/install $$($(GO) env GOOS)-$$($(GO) env GOARCH)=bin/rollmill
	@python3 -m pip install --quiet --force-reinstall --no-deps bin/install/*.whl && rollmill --version

# The date of the files in a wheel is the commit's.
wheels: release ## build a Python wheel for each of PLATFORMS, with the command inside, into bin/wheels
	@rm -rf bin/wheels
	SOURCE_DATE_EPOCH=$(shell git log -1 --format=%ct 2>/dev/null) python3 cmd/python/wheel.py --version '$(VERSION)' --out bin/wheels $(foreach p,$(PLATFORMS),$(p)=bin/release/rollmill-$(p))

##@ Demo

# The demo writes everything under DEMO, except its datasets, which go to
# DEMO_ROOT. DEMO_ROOT may be the URI of a bucket, with parameters.
DEMO           := runs/demo
DEMO_ROOT      := $(DEMO)
DEMO_EPOCHS    := 15
DEMO_EXAMPLES  := 64
DEMO_HELD_OUT  := 200
DEMO_PORT      := 17639
VALIDATE_EVERY := 5
export DEMO DEMO_EPOCHS VALIDATE_EVERY
export DEMO_RUN := $(DEMO_ROOT)
export DEMO_URL := http://127.0.0.1:$(DEMO_PORT)
EPOCHS_MK := ROOT="$$DEMO_RUN" $(MAKE) --no-print-directory -f pipelines/make/epoch.mk ROLLMILL=bin/rollmill \
             CONFIG=pipelines/demo/rollmill.yaml STAMPS=$(DEMO)/.stamps EPOCHS=$(DEMO_EPOCHS) VALIDATE_EVERY=$(VALIDATE_EVERY)
STORE_KEYS := AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AZURE_STORAGE_KEY AZURE_STORAGE_SAS_TOKEN
SANDBOX   := bin/rollmill sandbox --dir $(DEMO)/sandbox --listen 127.0.0.1:$(DEMO_PORT) $(STORE_KEYS:%=--exec-env %) --exec

demo: build $(DEMO)/train.jsonl $(DEMO)/held-out.jsonl ## play and train tic-tac-toe against the sandbox, epoch after epoch
	@if $(EPOCHS_MK) -q >/dev/null 2>&1; then \
	  echo "demo: up to date: all $(DEMO_EPOCHS) epochs are in $(DEMO) (make clean removes them)"; \
	else \
	  $(SANDBOX) '$(EPOCHS_MK)' && bin/rollmill report --root '$(DEMO_RUN)'; \
	fi
	@echo "next: bin/rollmill view '$(DEMO_RUN)'"

demo-train: build $(DEMO)/train.jsonl $(DEMO)/held-out.jsonl ## play and train the same epochs in one process
	@$(SANDBOX) 'bin/rollmill train --config pipelines/demo/rollmill.yaml'
	@bin/rollmill report --root '$(DEMO_RUN)'

$(DEMO)/train.jsonl: | build
	@mkdir -p $(@D)
	@bin/tictactoe examples --count $(DEMO_EXAMPLES) --seed 1 > $@.part && mv $@.part $@
$(DEMO)/held-out.jsonl: | build
	@mkdir -p $(@D)
	@bin/tictactoe examples --count $(DEMO_HELD_OUT) --seed 2 --offset 1000000 > $@.part && mv $@.part $@

##@ Check

SHORT ?= -short
# Packages whose tests wait long, and are tested first, so that others run while they wait.
WAITING := ./cmd/rollmill/systemtest ./stages/submit ./stages/score/... ./stages/rollout ./cmd/rollmill
# The tests start many small processes: a collector that runs later takes a tenth off their time.
test: ## run the tests, with the seeds of every fuzz target and samples of long suites (SHORT= for all of them)
	@GOGC=400 $(GO) test -p 5 $(SHORT) -json $(WAITING) ./... | $(GO) run ./.ci/testsum .ci/skips

ACTIONS := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
check: ## check formatting, go.mod and the workflows; run vet and staticcheck
	@unformatted=$$(gofmt -l cmd formats pipelines stages storage); test -z "$$unformatted" || { echo "gofmt: $$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) mod tidy -diff
	$(GO) run $(ACTIONS)

shape: ## print each package's files, exported names and references between files, and the limits it breaks
	@$(GO) run ./.ci/shape ./...

clean: ## remove bin and runs
	rm -rf bin runs

##@ Generated files

docs: ## write the generated pages, and the licences of what the program contains
	$(GO) test ./cmd/rollmill -run 'TestDocs|TestLicences' -update

versions: ## write this schema version's datasets under testdata/versions; keep those of others
	$(GO) test ./cmd/rollmill -run TestEveryVersionIsReadable -count 1 -update

golden: ## update the expected output of the scripts under testdata; read the diff
	$(GO) test ./cmd/rollmill/systemtest -run TestScripts -update

view/shots: ## take pictures of the viewer's pages, light and dark, wide and narrow, into runs/shots
	.ci/install browser
	VIEW_SHOTS=$(abspath runs/shots) $(GO) test ./cmd/rollmill/systemtest -run TestBrowserOpensEveryPage -count 1 -timeout 60m -v

##@ Stores and engines

stores: ## run the demo in object stores (STORES="minio gcs azure")
	EPOCHS=$(DEMO_EPOCHS) bash .ci/stores $(STORES)
slurm airflow ray: ## run the demo on these engines while a daemon or a worker is killed
	EPOCHS=$(DEMO_EPOCHS) bash .ci/$@

# Uses the server on the PATH, or installs Debian's into runs/llama, which needs
# root and debootstrap.
llama: ## record a real llama-server with a model of random weights
	LLAMA_SERVER=testdata/llama/server.sh $(GO) test ./cmd/rollmill/systemtest -run TestLlamaServer -count 1 -timeout 30m -v

vllm: ## record a real vLLM on the CPU with a tiny trained model; installs 2.5 GB
	sh testdata/vllm/venv.sh
	VLLM=1 $(GO) test ./cmd/rollmill/systemtest -run TestVLLM -count 1 -timeout 30m -v

##@ Learning

learn: ## test that the demo's policy learns, and does not learn from shuffled rewards (SEEDS=5)
	SEEDS=$(SEEDS) $(GO) test ./pipelines/train -run TestLearn -count 1 -timeout 60m -v -long
	[ $(SEEDS) -lt 2 ] || $(GO) test ./cmd/tictactoe -run 'Learn' -count 1 -timeout 60m -v -long

# A small transformer, with the engine and the trainer of pipelines/torch.
TORCH ?= runs/torch
learn/torch: build ## train a small transformer with the engine and the trainer of pipelines/torch (SEEDS=5)
	.ci/venv trainers
	.venv-trainers/bin/python pipelines/torch/learn.py bin/rollmill $(TORCH) $(SEEDS)
	.venv-trainers/bin/python pipelines/torch/check.py bin/rollmill $(TORCH)/seed-1
	.venv-trainers/bin/python testdata/prove.py bin/rollmill $(TORCH)/seed-1/run/epoch-1

# With SAMPLE=1, two arms and one epoch.
CREDIT ?= runs/credit
learn/credit: build $(BENCH)/bench ## compare credit for messages, for trajectories and for wrong messages; plot it (SEEDS=5)
	.ci/venv trainers
	.venv-trainers/bin/python testdata/credit/run.py bin/rollmill $(CREDIT) $(SEEDS) $(if $(SAMPLE),1 turns trajectories)
	$(BENCH)/bench credit $(CREDIT)/credit.jsonl $(CREDIT)/credit.svg

##@ Kills at random moments

chaos-rollout: ## kill rollout while its engine fails in many ways (TRAJECTORIES=2000 KILLS=10)
	COUNT=$(TRAJECTORIES) KILLS=$(KILLS) $(GO) test ./cmd/rollmill/systemtest -run TestChaosRollout -count 1 -timeout 60m -v

chaos-stages: ## kill score, group, curate, prune and compact, and race commands with --overwrite, on a disk and on a bucket (COUNT=100)
	COUNT=$(COUNT) $(GO) test ./cmd/rollmill/systemtest -run 'TestStagesKilledAtRandom|TestOverwriteRaces|TestPruneKilledAtRandom|TestCompactKilledAtRandom' -count 1 -timeout 120m -v
	COUNT=$(COUNT) $(GO) test ./pipelines/tidy ./formats/dataset/shards -run 'TestKilledAnywhere|TestCompactKilledAnywhere' -count 1 -timeout 60m -v

chaos-submit: ## kill submissions to every backend, alone and with a racing copy, and count the jobs (COUNT=100)
	COUNT=$(COUNT) $(GO) test ./stages/submit -run 'TestKilledAtRandom|TestKilledAtAnyRequest|TestRacingCopiesKilledAtRandom' -count 1 -parallel 8 -timeout 240m -v

chaos: build ## kill the demo, and compare its datasets with those of an undisturbed run (COUNT=20)
	COUNT=$(COUNT) $(GO) test ./pipelines/make -run TestDemoKilled -count 1 -timeout 60m -v -long

##@ Benchmarks

PEERS  := .venv-data/bin/python
$(PEERS): .ci/locks/data.txt
	.ci/venv data && touch $@
$(BENCH)/bench: FORCE
	@mkdir -p $(@D) && $(GO) build -o $@ ./testdata/bench
bench/group: build $(PEERS) $(BENCH)/bench ## group thin data, compared with DuckDB and polars (ROWS=10000000)
	$(BENCH)/bench thin $(ROWS) $(BENCH)/thin-$(ROWS)
	$(PEERS) testdata/bench/group.py $(BENCH)/bench bin/rollmill $(BENCH)/thin-$(ROWS) $(ROUNDS)
THIN ?= 2000000
bench/score: build $(PEERS) $(BENCH)/bench ## score a stored epoch again, and thin rows, compared with DuckDB, polars and pyarrow (ROWS=100000 THIN=2000000)
	$(BENCH)/bench real $(ROWS) $(BENCH)/real-$(ROWS)
	$(BENCH)/bench base $(THIN) $(BENCH)/thin-$(THIN)
	$(PEERS) testdata/bench/score.py bin/rollmill $(ROUNDS) $(BENCH)/real-$(ROWS) $(BENCH)/thin-$(THIN)
bench/curate: build $(PEERS) $(BENCH)/bench ## keep 30 % of wide data in three shapes, compared with DuckDB, polars and cp (GB=5)
	$(BENCH)/bench wide $(GB)e9 $(BENCH)/wide-$(GB)
	$(BENCH)/bench wide $(GB)e9 $(BENCH)/wide-$(GB)-small small
	$(BENCH)/bench wide $(GB)e9 $(BENCH)/wide-$(GB)-large large
	$(PEERS) testdata/bench/curate.py bin/rollmill $(ROUNDS) $(BENCH)/wide-$(GB) $(BENCH)/wide-$(GB)-small $(BENCH)/wide-$(GB)-large
bench/export: build $(PEERS) $(BENCH)/bench ## write the sequences of a curated dataset, compared with pyarrow (GB=5)
	$(GO) test ./formats/foreign/trainers -run '^$$' -bench File -cpu 1 -count $(ROUNDS)
	$(BENCH)/bench wide $(GB)e9 $(BENCH)/wide-$(GB)
	$(PEERS) testdata/bench/export.py bin/rollmill $(BENCH)/wide-$(GB) $(ROUNDS)
IMPORTED ?= 100000
bench/import: build $(PEERS) ## import chat messages, compared with Hugging Face's datasets (IMPORTED=1000000)
	$(PEERS) testdata/bench/import.py bin/rollmill $(BENCH)/import $(IMPORTED) 100000 $(ROUNDS)

CALLS ?= 100000
bench/merge: build ## merge rows that are single calls, compared with a plain import of the same bytes (CALLS=1000000)
	python3 testdata/bench/merge.py bin/rollmill $(BENCH)/merge $(CALLS) $(ROUNDS)

bench: ## run the benchmarks of packages
	$(GO) test -run '^$$' -bench . -benchmem ./...

bench/rewards: ## send wide rows to a reward in Python, as lines and as record batches
	.ci/venv data
	$(GO) test ./stages/score/rewards/command -run '^$$' -bench Python -benchtime 5s

bench/submit: ## convert rows to ART's wire format, compared with the harness, and submit a dataset of 5 GB (LARGE=160000)
	.ci/venv art-0.5.17
	COMPARED=$(COMPARED) LARGE=$(LARGE) $(GO) test ./stages/submit -run TestWireForm -count 1 -timeout 60m -v -long

bench/rollout: ## measure the cost of a recorded episode, compared with Python (EPISODES=1000)
	.ci/venv bench-rollout
	BENCH_EPISODES=$(EPISODES) $(GO) test ./cmd/rollmill/systemtest -run TestRolloutCost -count 1 -timeout 60m -v

# Trajectories that are open at once: OPEN chats, and OPEN_SERVICE of a service,
# each of which takes three open files of rollmill's and of the test's.
OPEN         ?= 10000
OPEN_SERVICE ?= 6000
bench/open: ## hold many trajectories open at once (OPEN=10000 OPEN_SERVICE=6000)
	OPEN=$(OPEN) OPEN_SERVICE=$(OPEN_SERVICE) $(GO) test ./cmd/rollmill -run TestOpenTrajectories -count 1 -timeout 60m -v

VIEW ?= 1000000
bench/view: ## print the times of the viewer's pages, and its memory, for a run of 100 epochs (VIEW=1000000)
	@mkdir -p $(BENCH)/view
	VIEW_RUN=$(abspath $(BENCH))/view VIEW_TRAJECTORIES=$(VIEW) $(GO) test ./cmd/rollmill/systemtest -run TestViewOfManyEpochs -count 1 -timeout 60m -v

bench/shards: ## measure score and group over a bucket for several numbers of shards and rows (ROWS=250000)
	ROWS=$(ROWS) bash .ci/shards shards

bench/remote: ## read a part with large row groups from a distant store, compared with a download of its bytes
	$(GO) test ./formats/parquet -run '^$$' -bench 'ScanRemote|Download' -count $(ROUNDS) | python3 testdata/bench/gobench.py 'scan of a distant part to a download' 'at most 1.2' BenchmarkScanRemote BenchmarkDownload

bench/recorder: ## call an engine directly, through a proxy that copies, and through the recorder
	$(GO) test ./stages/rollout/recorder -run '^$$' -bench AddedLatency -count $(ROUNDS) | python3 testdata/bench/gobench.py 'the recorder adds to a call of 2,000 tokens' 'at most 1' added-ms

# RATES are in calls a second, SECONDS long each in every one of ROUNDS. LITELLM is the words that start LiteLLM's proxy but for
# its port, which is then called at up to 20 a second. Its config finds the engine in the variable UPSTREAM.
RATES   ?= 50,200,1000
SECONDS ?= 5
LITELLM ?=
bench/gateway: build $(BENCH)/bench ## call an engine directly, through Bifrost's Go core with a file, and through a rollout (RATES=50,200,1000)
	cd testdata/bench/gateway && GOFLAGS=-trimpath $(GO) build -o $(abspath $(BENCH))/bifrost .
	$(BENCH)/bench gateway $(BENCH)/bifrost bin/rollmill $(BENCH)/gateway $(RATES) $(SECONDS) $(ROUNDS) $(LITELLM)

# A store that takes 30 ms for each request: the seal of 1,000 shards, and an hour's journal.
SEALED   ?= 1000
SEGMENTS ?= 1800
bench/rounds: ## seal many shards, and read an hour's journal, in a store that takes 30 ms a request (SEALED=1000)
	COUNT=$(SEALED) $(GO) test ./formats/dataset/shards -run TestSealingReadsRecordsConcurrently -count 1 -v
	COUNT=$(SEGMENTS) $(GO) test ./formats/dataset/shards -run TestJournalsAreReadConcurrently -count 1 -v

bench/scale: ## measure time and memory on a bucket, in killed shards, from 100,000 rows to ROWS; plot them (ROWS=100000000)
	ROWS=$(ROWS) BENCH=$(BENCH) bash .ci/shards scale

SAMPLE ?=
bench/all: build ## run the benchmarks that have a peer, small with SAMPLE=1; write one page of ratios
	python3 testdata/bench/all.py $(BENCH) $(if $(SAMPLE),sample)
