# Penstock. `make help` lists the targets.
#
# Tools are built from pinned sources into .cache/bin; nothing is installed elsewhere.

GOLANGCI_LINT_VERSION := v2.15.0

export GOTOOLCHAIN := local
SHELL  := /bin/bash
CACHE  := $(CURDIR)/.cache
BIN    := bin/penstock
LINT   := $(CACHE)/bin/golangci-lint-$(GOLANGCI_LINT_VERSION)
GOTEST := go run ./.ci/gotest
GOFILES = $(shell git ls-files --cached --others --exclude-standard '*.go')

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION)

# The race detector needs a C compiler; without one the tests run without it, and say so.
RACE := $(if $(shell command -v "$$(go env CC)"),-race)

.DEFAULT_GOAL := help

##@ Build

.PHONY: build
build: ## Build bin/penstock, static
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/penstock

.PHONY: cross
cross: ## Check that the gateway compiles elsewhere: its portable fallbacks, and arm64
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 go build -o /dev/null ./cmd/penstock
	CGO_ENABLED=0 GOOS=linux GOARCH=arm64 go build -o /dev/null ./cmd/penstock

.PHONY: docker
docker: ## Build the container image penstock:VERSION
	docker build --build-arg VERSION=$(VERSION) -t penstock:$(VERSION) .

.PHONY: clean
clean: ## Remove what was built, keeping the tools in .cache
	rm -rf bin

##@ Run

.PHONY: demo
demo: build ## Simulated fleet, gateway and live traffic for 20 s; ARGS="--for 5m", or ARGS=" " until Ctrl-C
	$(BIN) demo $(if $(ARGS),$(ARGS),--for 20s)

##@ Test

# In order of cost. Every stage says how many tests it ran.
.PHONY: test
test: ## Everything that needs no real engine
	@set -e; for stage in check-format vet lint cross unit invariants fuzz-short integration; do \
	  echo "== $$stage"; start=$$SECONDS; $(MAKE) --no-print-directory $$stage; \
	  echo "== $$stage: ok, $$((SECONDS - start)) s"; \
	done

.PHONY: unit race
unit: race
race: ## Unit tests with the race detector, shuffled; long tests run in integration
	@$(if $(RACE),,echo "NOTE: no C compiler, the race detector is off")
	$(GOTEST) $(RACE) -shuffle=on -short -timeout 10m ./...

.PHONY: invariants
invariants: ## Unit tests with the expensive self-checks on
	@if git grep -qE '^//go:build .*\binvariants\b' -- '*.go'; then \
	  $(GOTEST) -tags invariants -shuffle=on -short -timeout 10m ./...; \
	else echo "no self-checks behind the tag yet"; fi

.PHONY: fuzz-short
fuzz-short: ## Every fuzz target for some seconds
	@.ci/fuzz

.PHONY: integration
integration: ## End to end against simulated engines, without -short
	$(GOTEST) -count=1 -timeout 10m ./bench/... ./cmd/...

.PHONY: faults
faults: ## Every row of the fault table, with the fault really made
	$(GOTEST) -count=1 -timeout 20m -v ./bench/faults/...

.PHONY: soak
soak: ## Ten minutes of mixed aborts: memory, descriptors, goroutines and leases stay flat
	PENSTOCK_SOAK=10m $(GOTEST) -count=1 -timeout 20m -run Soak -v ./bench/faults/...

.PHONY: e2e
e2e: build oracle ## Real engines and real SDKs behind the gateway, and the oracles (installs them under .cache)
	bench/e2e/setup.sh
	bench/e2e/run.sh
	bench/e2e/keying.sh

.PHONY: oracle
oracle: ## Tokenizers and chat templates against the official libraries (installs them under .cache)
	bench/oracle/setup.sh
	bench/oracle/templates/setup.sh
	$(GOTEST) -count=1 -timeout 40m ./bench/oracle/...

.PHONY: bench
bench: build ## Penstock, nginx and HAProxy on the same cores, tokenizers beside the official ones; writes bench/RESULTS.md
	bench/proxybench/setup.sh
	bench/oracle/setup.sh
	go run ./bench/oracle/speed --out bench/RESULTS.md
	go run ./bench/proxybench --out bench/RESULTS.md $(ARGS)

.PHONY: cover
cover: ## Test coverage by function, and in all
	@mkdir -p $(CACHE)
	$(GOTEST) -short -coverpkg=./... -coverprofile=$(CACHE)/cover.out ./...
	go tool cover -func=$(CACHE)/cover.out | tail -1

##@ Check

.PHONY: fmt
fmt: $(LINT) ## Format the code
	$(LINT) fmt

.PHONY: check-format
check-format:
	@bad=$$(gofmt -l $(GOFILES)); if [ -n "$$bad" ]; then echo "not gofmt-ed (make fmt):"; echo "$$bad"; exit 1; fi

.PHONY: vet
vet: ## go vet
	go vet ./... ./.ci/gotest

.PHONY: lint
lint: $(LINT) ## golangci-lint, pinned, with the formatters
	$(LINT) run

# Its own modules are fetched with checksums from the checksum database.
$(LINT):
	@mkdir -p $(CACHE)/bin
	GOBIN=$(CACHE)/bin/.new CGO_ENABLED=0 go install -trimpath -ldflags '-s -w' \
	  github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	mv $(CACHE)/bin/.new/golangci-lint $@ && rm -rf $(CACHE)/bin/.new

.PHONY: help
help: ## This list
	@awk 'BEGIN {FS = ":.*##"} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+( [a-z0-9-]+)*:.*##/ {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
