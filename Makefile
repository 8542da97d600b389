# The everyday commands. Each one calls the real tool; nothing is decided here.
.DEFAULT_GOAL := help
.PHONY: help run test lint bench costs flowbench instructions sim replay agree random fuzz crash mutants fmt

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

run: ## play the demo
	@scripts/demo.sh

test: ## everything CI does: formatting, clippy, all tests against a private PostgreSQL
	@scripts/test.sh

lint: ## formatting, plain words and clippy only, warnings denied
	cargo fmt --all --check && cargo run -q --locked -p rhythm-tidy && cargo clippy --workspace --all-targets --locked -- -D warnings

bench: ## all benchmarks, durable settings, as a Markdown table in bench/results.md
	cargo build --release --locked -p rhythm-cli
	@scripts/with-postgres.sh target/release/rhythm bench all --markdown >target/results.md && mv target/results.md bench/results.md && cat bench/results.md

costs: ## what each kind of work writes into the logs of SQLite and PostgreSQL
	cargo build --release --locked -p rhythm-cli
	@scripts/with-postgres.sh python3 bench/costs.py

flowbench: ## the .flow language: compiling, stepping, a thousand scenarios
	cargo bench --locked -p rhythm-bench --bench flow

instructions: ## instruction counts of step, serialisation and claims, beside those of bench/instructions.tsv
	@bench/instructions.sh

sim: ## simulate: make sim SEEDS=50000 FROM=0
	cargo run --release --locked -p rhythm-sim -- --seeds $(or $(SEEDS),1000) --from $(or $(FROM),0)

replay: ## print what happens under one seed: make replay SEED=7
	cargo run --release --locked -p rhythm-sim -- --replay $(SEED)

agree: ## the same seeds on every world, byte-equal histories: make agree SEEDS=100
	SIM_WORLD_SEEDS=$(or $(SEEDS),50) RHYTHM_PG_FAST=1 scripts/with-postgres.sh cargo test --release --locked -p rhythm-sim --test worlds_agree -- --nocapture

random: ## generated programs and graphs, long, in memory and on both databases: make random PROGRAMS=100000
	RHYTHM_RANDOM_PROGRAMS=$(or $(PROGRAMS),100000) cargo nextest run --release --locked -p rhythm-flow random_programs
	RHYTHM_WORLD_PROGRAMS=$(or $(COPIES),1000) RHYTHM_WORLD_GRAPHS=$(or $(COPIES),1000) RHYTHM_PG_FAST=1 scripts/with-postgres.sh cargo nextest run --release --locked -p rhythm-worlds the_same_as_in_memory

fuzz: ## feed mutated programs to the .flow language: make fuzz MINUTES=60
	scripts/fuzz.sh $(or $(MINUTES),5)

crash: ## kill, stop and starve real processes, long, on SQLite and PostgreSQL (SCENARIOS="random_kills zombies")
	@scripts/setup.sh strace
	cargo build --release --locked -p rhythm-crash
	scripts/with-postgres.sh cargo run --release --locked -p rhythm-crash --bin crash -- --scale long $(SCENARIOS)

mutants: ## deliberate faults, each caught by a named test; ONLY=name tries one, SAMPLE=60 SEED=7 random ones
ifdef SAMPLE
	@scripts/sample-mutants.sh $(SAMPLE) $(SEED)
else
	RHYTHM_PG_FAST=1 scripts/with-postgres.sh cargo run --locked -p rhythm-mutants -- $(addprefix --only ,$(ONLY))
endif

fmt: ## format the code in place
	cargo fmt --all
