# make demo   plays and trains tic-tac-toe, epoch after epoch, against the sandbox
# make build  builds bin/rollmill and bin/tictactoe
# make release  builds rollmill for linux and darwin, amd64 and arm64, into bin/release: archives, bills of materials, SHA256SUMS
# make wheels  builds a Python wheel for each of PLATFORMS, with the command inside, into bin/wheels
# make test   runs the tests
# make check  checks formatting and go.mod, runs vet and staticcheck
# make bench  runs the benchmarks
# make bench/rollout EPISODES=1000   measures the cost of a recorded episode, compared with Python
# make docs   writes the generated pages, and the licences of what the program contains
# make versions   writes the datasets of this schema version under testdata/versions; keeps those of others
# make golden   updates the expected output of the scripts under testdata; read the diff
# make stores STORES="minio gcs azure"   runs the demo in object stores
# make slurm, make airflow, make ray   run the demo on these engines while a daemon or a worker is killed
# make bench/shards ROWS=250000   measures score and group over a bucket for several numbers of shards and rows
# make bench/view VIEW=1000000   prints the times of the viewer's pages, and its memory, for a run of 100 epochs
# make view/shots   takes pictures of the viewer's pages, light and dark, wide and narrow, into runs/shots
# make learn SEEDS=5    tests that the demo's policy learns, and does not learn from shuffled rewards
# make learn/credit SEEDS=5   compares credit for messages, for trajectories and for the wrong messages, on the demo's game and on sums in several turns; plots it
# make bench/score ROWS=100000 THIN=2000000  scores a stored epoch again, and one of thin rows, compared with DuckDB, polars and pyarrow
# make bench/rewards    sends wide rows to a reward in Python, as lines and as record batches
# make bench/submit LARGE=160000  converts rows to ART's wire format, compared with the harness, and submits a dataset of 5 GB
# make chaos-submit COUNT=100   kills submissions to every backend at random moments, alone and with a racing copy, on a disk and on a bucket, and counts the jobs
# make vllm   records a real vLLM on the CPU with a tiny trained model; installs 2.5 GB
# make llama  records a real llama-server with a model of random weights
# make chaos-rollout TRAJECTORIES=2000 KILLS=10   kills rollout while its engine fails in many ways
# make chaos-stages COUNT=100   kills score, group, curate, prune and compact at random moments, and races commands with --overwrite, on a disk and on a bucket
# make chaos COUNT=20   kills the demo at random moments and compares its datasets with those of an undisturbed run
# make bench/group ROWS=10000000   groups thin data, compared with DuckDB and polars
# make bench/curate GB=5           keeps 30 % of wide data in three shapes, compared with DuckDB, polars and cp
# make bench/export GB=5           writes the sequences of a curated dataset, compared with pyarrow
# make bench/remote   reads a part with large row groups from a distant store, compared with a download of its bytes
# make bench/recorder  calls an engine directly, through a proxy that copies, and through the recorder
# make bench/rounds SEALED=1000   seals as many shards, and reads an hour's journal, in a store that takes 30 ms for each request
# make bench/scale ROWS=100000000  measures time and memory on a bucket, in shards that are killed, from 100,000 rows to ROWS; plots them
# make bench/all SAMPLE=1   runs the benchmarks that have a peer, small with SAMPLE=1; writes one page of ratios
# make bench/import IMPORTED=1000000   imports chat messages, compared with Hugging Face's datasets

GO    ?= go
# The same flags as in .ci/flags, which gives the reasons.
export CGO_ENABLED := 0
export GOFLAGS := $(shell $(GO) env GOFLAGS)
ifeq ($(findstring disable_grpc_modules,$(GOFLAGS)),)
GOFLAGS := -trimpath -tags=disable_grpc_modules,grpcnotrace,minimal,arrow_json_stdlib,urfave_cli_no_docs -vet=off -gcflags=all=-dwarf=false $(GOFLAGS)
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

.PHONY: all build release gnu-tar wheels demo demo-train test check bench bench/score bench/rewards bench/submit bench/rollout bench/open bench/shards bench/group bench/curate bench/import bench/export bench/view bench/remote bench/recorder bench/rounds bench/scale bench/all view/shots stores slurm airflow ray docs versions golden chaos chaos-rollout chaos-stages chaos-submit learn learn/torch learn/credit llama vllm clean FORCE
all: build

VERSION = $(shell git describe --tags --always --dirty 2>/dev/null)
COMMIT  = $(shell git rev-parse --short=12 HEAD 2>/dev/null)
DATE    = $(shell git log -1 --format=%cs 2>/dev/null)
BUILD   = -ldflags \
          "-s -w -X main.releaseVersion=$(VERSION) -X main.releaseCommit=$(COMMIT) -X main.releaseDate=$(DATE)"

build: bin/rollmill bin/tictactoe
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
release: gnu-tar bin/rollmill $(PLATFORMS:%=bin/release/rollmill-%)
	@rm -rf bin/release/*.tar.gz bin/release/*.json bin/release/files
	@mkdir bin/release/files && cp README.md LICENSE bin/release/files && cp cmd/rollmill/licences.txt bin/release/files/LICENCES.txt
	@for shell in $(SHELLS); do bin/rollmill completion $$shell > bin/release/files/rollmill.$$shell || exit; done
	@set -e; for binary in bin/release/rollmill-*; do \
	  [ -f $$binary ] || continue; platform=$${binary#bin/release/rollmill-}; \
	  name=rollmill-$(VERSION)-$$platform; echo "release: $$name"; \
	  $(GO) run $(BILL) bin -json -std -notimestamp -noserial -version '$(VERSION)' bin/release/rollmill-$$platform > bin/release/bill; \
	  python3 .ci/bill.py '$(DATE)' pipelines/view/static/*.min.* < bin/release/bill > bin/release/$$name.cdx.json; \
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

# The date of the files in a wheel is the commit's.
wheels: release
	@rm -rf bin/wheels
	SOURCE_DATE_EPOCH=$(shell git log -1 --format=%ct 2>/dev/null) python3 cmd/python/wheel.py --version '$(VERSION)' --out bin/wheels $(foreach p,$(PLATFORMS),$(p)=bin/release/rollmill-$(p))

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

demo: build $(DEMO)/train.jsonl $(DEMO)/held-out.jsonl
	@if $(EPOCHS_MK) -q >/dev/null 2>&1; then \
	  echo "demo: up to date: all $(DEMO_EPOCHS) epochs are in $(DEMO) (make clean removes them)"; \
	else \
	  $(SANDBOX) '$(EPOCHS_MK)' && bin/rollmill report --root '$(DEMO_RUN)'; \
	fi
	@echo "next: bin/rollmill view '$(DEMO_RUN)'"

# The same epochs in one process.
demo-train: build $(DEMO)/train.jsonl $(DEMO)/held-out.jsonl
	@$(SANDBOX) 'bin/rollmill train --config pipelines/demo/rollmill.yaml'
	@bin/rollmill report --root '$(DEMO_RUN)'

$(DEMO)/train.jsonl: | build
	@mkdir -p $(@D)
	@bin/tictactoe examples --count $(DEMO_EXAMPLES) --seed 1 > $@.part && mv $@.part $@
$(DEMO)/held-out.jsonl: | build
	@mkdir -p $(@D)
	@bin/tictactoe examples --count $(DEMO_HELD_OUT) --seed 2 --offset 1000000 > $@.part && mv $@.part $@

test:
	@$(GO) test -p 3 -json ./... | $(GO) run ./.ci/testsum .ci/skips

check:
	@unformatted=$$(gofmt -l cmd formats pipelines stages storage); test -z "$$unformatted" || { echo "gofmt: $$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) mod tidy -diff

# Data is kept under BENCH for the next run. Each program is run ROUNDS times.
BENCH  ?= runs/bench
GB     ?= 1
ROUNDS ?= 3
PEERS  := .venv-data/bin/python
$(PEERS): .ci/locks/data.txt
	.ci/venv data && touch $@
$(BENCH)/bench: FORCE
	@mkdir -p $(@D) && $(GO) build -o $@ ./testdata/bench
bench/group: build $(PEERS) $(BENCH)/bench
	$(BENCH)/bench thin $(ROWS) $(BENCH)/thin-$(ROWS)
	$(PEERS) testdata/bench/group.py $(BENCH)/bench bin/rollmill $(BENCH)/thin-$(ROWS) $(ROUNDS)
THIN ?= 2000000
bench/score: build $(PEERS) $(BENCH)/bench
	$(BENCH)/bench real $(ROWS) $(BENCH)/real-$(ROWS)
	$(BENCH)/bench base $(THIN) $(BENCH)/thin-$(THIN)
	$(PEERS) testdata/bench/score.py bin/rollmill $(ROUNDS) $(BENCH)/real-$(ROWS) $(BENCH)/thin-$(THIN)
bench/curate: build $(PEERS) $(BENCH)/bench
	$(BENCH)/bench wide $(GB)e9 $(BENCH)/wide-$(GB)
	$(BENCH)/bench wide $(GB)e9 $(BENCH)/wide-$(GB)-small small
	$(BENCH)/bench wide $(GB)e9 $(BENCH)/wide-$(GB)-large large
	$(PEERS) testdata/bench/curate.py bin/rollmill $(ROUNDS) $(BENCH)/wide-$(GB) $(BENCH)/wide-$(GB)-small $(BENCH)/wide-$(GB)-large
bench/export: build $(PEERS) $(BENCH)/bench
	$(GO) test ./formats/foreign/trainers -run '^$$' -bench File -cpu 1 -count $(ROUNDS)
	$(BENCH)/bench wide $(GB)e9 $(BENCH)/wide-$(GB)
	$(PEERS) testdata/bench/export.py bin/rollmill $(BENCH)/wide-$(GB) $(ROUNDS)
IMPORTED ?= 100000
bench/import: build $(PEERS)
	$(PEERS) testdata/bench/import.py bin/rollmill $(BENCH)/import $(IMPORTED) 100000 $(ROUNDS)

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

bench/rewards:
	.ci/venv data
	$(GO) test ./stages/score/rewards/command -run '^$$' -bench Python -benchtime 5s

bench/submit:
	.ci/venv art-0.5.17
	COMPARED=$(COMPARED) LARGE=$(LARGE) $(GO) test ./stages/submit -run TestWireForm -count 1 -timeout 60m -v -long

bench/rollout:
	.ci/venv bench-rollout
	BENCH_EPISODES=$(EPISODES) $(GO) test ./cmd/rollmill/systemtest -run TestRolloutCost -count 1 -timeout 60m -v

# Trajectories that are open at once: OPEN chats, and OPEN_SERVICE of a service,
# each of which takes three open files of rollmill's and of the test's.
OPEN         ?= 10000
OPEN_SERVICE ?= 6000
bench/open:
	OPEN=$(OPEN) OPEN_SERVICE=$(OPEN_SERVICE) $(GO) test ./cmd/rollmill -run TestOpenTrajectories -count 1 -timeout 60m -v

VIEW ?= 1000000
bench/view:
	@mkdir -p $(BENCH)/view
	VIEW_RUN=$(abspath $(BENCH))/view VIEW_TRAJECTORIES=$(VIEW) $(GO) test ./cmd/rollmill/systemtest -run TestViewOfManyEpochs -count 1 -timeout 60m -v

view/shots:
	.ci/install browser
	VIEW_SHOTS=$(abspath runs/shots) $(GO) test ./cmd/rollmill/systemtest -run TestBrowserOpensEveryPage -count 1 -timeout 60m -v

bench/shards:
	ROWS=$(ROWS) bash .ci/shards shards

bench/remote:
	$(GO) test ./formats/parquet -run '^$$' -bench 'ScanRemote|Download' -count $(ROUNDS) | python3 testdata/bench/gobench.py 'scan of a distant part to a download' 'at most 1.2' BenchmarkScanRemote BenchmarkDownload

bench/recorder:
	$(GO) test ./stages/rollout/recorder -run '^$$' -bench AddedLatency -count $(ROUNDS) | python3 testdata/bench/gobench.py 'the recorder adds to a call of 2,000 tokens' 'at most 1' added-ms

# A store that takes 30 ms for each request: the seal of 1,000 shards, and an hour's journal.
SEALED   ?= 1000
SEGMENTS ?= 1800
bench/rounds:
	COUNT=$(SEALED) $(GO) test ./formats/dataset -run TestSealingReadsRecordsConcurrently -count 1 -v
	COUNT=$(SEGMENTS) $(GO) test ./formats/dataset -run TestJournalsAreReadConcurrently -count 1 -v

bench/scale:
	ROWS=$(ROWS) BENCH=$(BENCH) bash .ci/shards scale

SAMPLE ?=
bench/all: build
	python3 testdata/bench/all.py $(BENCH) $(if $(SAMPLE),sample)

stores:
	EPOCHS=$(DEMO_EPOCHS) bash .ci/stores $(STORES)
slurm airflow ray:
	EPOCHS=$(DEMO_EPOCHS) bash .ci/$@

docs:
	$(GO) test ./cmd/rollmill -run 'TestDocs|TestLicences' -update

versions:
	$(GO) test ./cmd/rollmill -run TestEveryVersionIsReadable -count 1 -update

golden:
	$(GO) test ./cmd/rollmill/systemtest -run TestScripts -update

chaos-rollout:
	COUNT=$(TRAJECTORIES) KILLS=$(KILLS) $(GO) test ./cmd/rollmill/systemtest -run TestChaosRollout -count 1 -timeout 60m -v

chaos-stages:
	COUNT=$(COUNT) $(GO) test ./cmd/rollmill/systemtest -run 'TestStagesKilledAtRandom|TestOverwriteRaces|TestPruneKilledAtRandom|TestCompactKilledAtRandom' -count 1 -timeout 120m -v
	COUNT=$(COUNT) $(GO) test ./pipelines/tidy ./formats/dataset -run 'TestKilledAnywhere|TestCompactKilledAnywhere' -count 1 -timeout 60m -v

chaos-submit:
	COUNT=$(COUNT) $(GO) test ./stages/submit -run 'TestKilledAtRandom|TestKilledAtAnyRequest|TestRacingCopiesKilledAtRandom' -count 1 -parallel 8 -timeout 240m -v

chaos: build
	COUNT=$(COUNT) $(GO) test ./pipelines/make -run TestDemoKilled -count 1 -timeout 60m -v -long

learn:
	SEEDS=$(SEEDS) $(GO) test ./pipelines/train -run TestLearn -count 1 -timeout 60m -v -long
	[ $(SEEDS) -lt 2 ] || $(GO) test ./cmd/tictactoe -run 'Learn' -count 1 -timeout 60m -v -long

# A small transformer, with the engine and the trainer of pipelines/torch.
TORCH ?= runs/torch
learn/torch: build
	.ci/venv trainers
	.venv-trainers/bin/python pipelines/torch/learn.py bin/rollmill $(TORCH) $(SEEDS)
	.venv-trainers/bin/python pipelines/torch/check.py bin/rollmill $(TORCH)/seed-1
	.venv-trainers/bin/python testdata/prove.py bin/rollmill $(TORCH)/seed-1/run/epoch-1

# With SAMPLE=1, two arms and one epoch.
CREDIT ?= runs/credit
learn/credit: build $(BENCH)/bench
	.ci/venv trainers
	.venv-trainers/bin/python testdata/credit/run.py bin/rollmill $(CREDIT) $(SEEDS) $(if $(SAMPLE),1 turns trajectories)
	$(BENCH)/bench credit $(CREDIT)/credit.jsonl $(CREDIT)/credit.svg

# Uses the server on the PATH, or installs Debian's into runs/llama, which needs
# root and debootstrap.
llama:
	LLAMA_SERVER=testdata/llama/server.sh $(GO) test ./cmd/rollmill/systemtest -run TestLlamaServer -count 1 -timeout 30m -v

vllm:
	sh testdata/vllm/venv.sh
	VLLM=1 $(GO) test ./cmd/rollmill/systemtest -run TestVLLM -count 1 -timeout 30m -v

clean:
	rm -rf bin runs
