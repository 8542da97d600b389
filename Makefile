# The commands people type. Each one calls the real tool; nothing is decided here.
.DEFAULT_GOAL := help
.PHONY: help run test lint bench fmt

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s %s\n", $$1, $$2 }' Makefile

run: ## play the demo
	@scripts/demo.sh

test: ## everything CI does: formatting, clippy, all tests against a private PostgreSQL
	@scripts/test.sh

lint: ## formatting and clippy only, warnings denied
	cargo fmt --all --check && cargo clippy --workspace --all-targets --locked -- -D warnings

bench: ## all benchmarks, durable settings, as a Markdown table
	scripts/with-postgres.sh cargo run --release --locked -p rhythm-cli -- bench all --markdown

fmt: ## format the code in place
	cargo fmt --all
