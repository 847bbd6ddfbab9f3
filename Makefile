# The commands of this project; `make demo` and `make test` set everything up themselves.
PY := .venv/bin/python
PYTEST := .venv/bin/pytest -n 2 --dist loadgroup

.PHONY: demo serve setup check format test test-full screenshots lock wheel clean

demo: ; @python3 scripts/setup.py run && exec $(PY) -m tiebreak.cli demo
serve: ; @python3 scripts/setup.py run && exec $(PY) -m tiebreak.cli serve
setup: ; @python3 scripts/setup.py dev

check: setup
	@test ! -e platform/__init__.py || (echo "platform/__init__.py hides Python's own platform module: delete it" && false)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	$(PY) scripts/check_migrations.py

format: setup
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

test: setup
	$(PYTEST) -m "not slow"

test-full: setup
	$(PYTEST)

screenshots: setup
	$(PY) scripts/screenshots.py $(if $(README),--readme)

lock: setup
	.venv/bin/uv pip compile -q --universal --generate-hashes --no-emit-index-url pyproject.toml -o requirements.lock
	.venv/bin/uv pip compile -q --universal --generate-hashes --no-emit-index-url pyproject.toml --group dev -o requirements-dev.lock

wheel: setup
	$(PY) -m build --wheel --no-isolation

clean: ; rm -rf dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
