"""What the project says about itself: versions, addresses, commands, workflows."""

import json
import os
import re
import runpy
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import make_book
import pytest
import setuptools
import yaml
from packaging.version import Version
from sources import expect_in_none, expect_nothing

import mathlm

ROOT = Path(__file__).resolve().parents[1]
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
ADDRESS = CONFIG["repository"]["url"]
PAGES = CONFIG["html"]["baseurl"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
README, CHANGELOG, CONTRIBUTING, MAKEFILE, POST_BUILD = (
    (ROOT / name).read_text(encoding="utf-8")
    for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "postBuild")
)
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
SKIPPED = {"_build", "__pycache__", "node_modules", "runs"}
KINDS = {"", ".cff", ".css", ".ipynb", ".js", ".json", ".md", ".py", ".toml", ".txt", ".yml"}


def files():
    """Every text file of the project."""
    for folder, names, found in os.walk(ROOT):
        hidden = {n for n in names if n.startswith(".") and n not in {".ci", ".github"}}
        names[:] = sorted(set(names) - hidden - SKIPPED - {n for n in names if "egg-info" in n})
        yield from (Path(folder) / n for n in sorted(found) if Path(n).suffix in KINDS)


TEXTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in files()
}


def where(pattern):
    """Lines of the project that match, by file."""
    found = [(name, m[0]) for name, text in TEXTS.items() for m in re.finditer(pattern, text)]
    return sorted(set(found))


@cache
def workflow(path):
    """A workflow; YAML reads its key "on" as the truth value."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    content["on"] = content.pop(True)
    return content


def steps(path):
    """Every step of a workflow."""
    return [step for job in workflow(path)["jobs"].values() for step in job["steps"]]


def commands(path):
    """Every line that a workflow gives to a shell."""
    return "\n".join(step.get("run", "") for step in steps(path))


def test_the_walk_sees_the_project():
    assert {"README.md", "Makefile", ".ci/run", ".github/workflows/ci.yml"} <= set(TEXTS)
    assert not [name for name in TEXTS if name.startswith((".venv", "_build", ".git/"))]


# --- versions -------------------------------------------------------------------------------


RELEASES = re.findall(r"^## \[(\d[^\]]*)\] - (\d{4}-\d\d-\d\d)$", CHANGELOG, re.MULTILINE)


def test_the_version_is_the_newest_of_the_changelog_or_one_that_comes_after_it():
    newest, now = Version(RELEASES[0][0]), Version(mathlm.__version__)
    if not now.is_devrelease:
        assert now == newest
    else:
        assert (now > newest, now.dev) == (True, 0)
        assert "## [Unreleased]\n" in CHANGELOG


def test_the_changelog_uses_the_sections_of_its_form():
    kinds = set(re.findall(r"^### (.*)$", CHANGELOG, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert len(re.findall(r"^## ", CHANGELOG, re.MULTILINE)) == len(
        re.findall(r"^## \[(?:Unreleased|\d+\.\d+\.\d+\] - )", CHANGELOG, re.MULTILINE)
    )


def test_the_citation_has_the_version_and_the_names_of_the_project():
    assert CITATION["version"] == mathlm.__version__
    assert CITATION["authors"] == PROJECT["authors"]


def test_the_citation_names_a_day_only_of_a_release():
    days = dict(RELEASES)
    assert str(CITATION.get("date-released")) == str(days.get(mathlm.__version__))


def test_the_citation_file_is_valid():
    tool = Path(sys.executable).parent / "check-jsonschema"
    schema = ["--builtin-schema", "vendor.citation-file-format"]
    subprocess.run([tool, *schema, "CITATION.cff"], cwd=ROOT, check=True, capture_output=True)


@pytest.mark.parametrize("name", ["README.md", "book/index.md"])
def test_torch_is_installed_in_the_pinned_version(name):
    pinned = re.search(r"^torch==\S+", TEXTS["constraints.txt"], re.MULTILINE)[0]
    assert set(re.findall(r"torch==[\d.]+", TEXTS[name])) == {pinned}


# --- one address ----------------------------------------------------------------------------


def test_the_repository_has_one_address():
    name = re.escape(ADDRESS.rsplit("/", 1)[1])
    others = where(rf"https?://github\.com/[\w.-]+/{name}\b") + where(
        r"git\+https?://[^\s\"\\]+"
    )
    assert {text.removeprefix("git+").removesuffix(".git") for _, text in others} == {ADDRESS}


def test_the_repository_is_named_where_readers_and_tools_look():
    assert PROJECT["urls"]["Repository"] == ADDRESS
    assert CITATION["repository-code"] == ADDRESS


def test_the_pages_have_one_address():
    host = re.escape(PAGES.split("/")[2])
    assert {text for _, text in where(rf"https://{host}[\w./-]*")} == {PAGES}
    assert CITATION["url"] == PAGES == CONFIG["sphinx"]["config"]["ogp_site_url"]


def test_the_colab_cell_of_a_chapter_installs_from_the_repository():
    def not_cloned(path):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        tagged = [c for c in cells if "colab" in c["metadata"].get("tags", [])]
        clones = [f"git clone -q --depth 1 {ADDRESS} " in "".join(c["source"]) for c in tagged]
        return clones != [True] and f"{clones} in place of one cell that clones"

    chapters = sorted((ROOT / "book").glob("[0-9]*.ipynb"))
    expect_in_none(not_cloned, chapters)
    assert len(chapters) > 30


# --- the readme and its neighbors -----------------------------------------------------------


def test_the_code_of_the_readme_runs_and_prints_what_it_says():
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    said = re.findall(r"  # (.*)$", code, re.MULTILINE)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == said
    assert len([line for line in code.splitlines() if line]) <= 10


def test_every_path_in_the_tree_of_the_readme_exists():
    (tree,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    folders, missing = {0: ROOT}, []
    for indent, name in re.findall(r"^( *)(\S+) ", tree, re.MULTILINE):
        path = folders[len(indent)] / name
        folders[len(indent) + 2] = path
        missing += [] if path.exists() and path.is_dir() is name.endswith("/") else [name]
    assert missing == []


def test_the_tree_of_the_readme_names_every_part_of_the_package():
    named = re.findall(r"^  (\w+)(?:/|\.py) ", README, re.MULTILINE)
    assert [name for name in named if name in mathlm.__all__] == mathlm.__all__


@pytest.mark.parametrize(
    "text", [README, CONTRIBUTING, CHANGELOG], ids=["readme", "how", "log"]
)
def test_links_lead_to_files(text):
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_on_the_package_index_every_link_of_the_readme_leads_to_the_repository(monkeypatch):
    given = {}
    monkeypatch.setattr(setuptools, "setup", lambda **options: given.update(options))
    runpy.run_path(str(ROOT / "setup.py"))
    targets = re.findall(r"\]\(([^)]+)\)", given["long_description"])
    assert len(targets) == len(re.findall(r"\]\(", README)) > 20
    for target in targets:
        assert target.startswith(f"{ADDRESS}/blob/HEAD/"), target
        assert (ROOT / target.removeprefix(f"{ADDRESS}/blob/HEAD/")).exists(), target
    assert given["long_description_content_type"] == "text/markdown"
    assert "readme" in PROJECT["dynamic"]


def test_the_package_index_links_to_documentation_changelog_and_issues():
    assert PROJECT["urls"] == {
        "Documentation": PAGES,
        "Repository": ADDRESS,
        "Changelog": f"{ADDRESS}/blob/HEAD/CHANGELOG.md",
        "Issues": f"{ADDRESS}/issues",
    }
    assert (ROOT / "CHANGELOG.md").exists()


def test_paths_named_to_contributors_exist():
    named = re.findall(r"`((?:mathlm|tests|tools|book|\.ci|_toc)[\w./]*)`", CONTRIBUTING)
    assert len(named) > 5
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "book/index.md", ".ci/run"])
def test_named_commands_are_targets_of_the_makefile(name):
    told = set(re.findall(r"(?:^|`|timed \d+ )make ([a-z-]+)", TEXTS[name], re.MULTILINE))
    assert told - TARGETS == set()
    assert told


def test_the_route_without_make_installs_what_the_makefile_installs():
    (route,) = re.findall(r"```powershell\n(.*?)```", README, re.DOTALL)
    for file in re.findall(r"-r (\S+\.txt)|-c (\S+\.txt)", MAKEFILE):
        assert "".join(file) in route
    tools = re.findall(
        r"tools/notebooks\.py (\w+)", MAKEFILE.split("book:")[1].split("\n\n")[0]
    )
    assert re.findall(r"tools\\notebooks\.py (\w+)", route) == tools


def test_binder_installs_the_package_and_what_make_data_installs():
    data = re.search(r"^data:\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)[1]
    assert "pip install --no-cache-dir --no-deps -e ." in POST_BUILD
    assert set(re.findall(r"-r (\S+)", POST_BUILD)) == set(re.findall(r"-r (\S+)", data))
    assert os.access(ROOT / "postBuild", os.X_OK)


def test_both_licenses_are_there():
    assert TEXTS["LICENSE"].startswith("MIT License")
    text = TEXTS["LICENSE-text"]
    assert "SPDX-License-Identifier: CC-BY-4.0" in text
    assert re.findall(r"^Section (\d) -- ", text, re.MULTILINE) == list("12345678")
    assert "creativecommons.org/policies" in text  # the last paragraph


def test_the_citation_names_one_license_for_the_package_and_one_for_the_book():
    """A list would mean "one of these": schema-guide of the Citation File Format 1.2.0."""
    assert CITATION["license"] == PROJECT["license"] == "MIT"
    assert CITATION["preferred-citation"]["license"] == "CC-BY-4.0"


# --- workflows ------------------------------------------------------------------------------


def test_there_is_a_workflow_for_each_purpose():
    names = {"ci", "colab", "gpu", "machines", "mutate", "pages", "release"}
    assert {path.stem for path in WORKFLOWS} == names


def test_a_workflow_may_only_read_unless_a_job_says_otherwise():
    may = {path.stem: workflow(path)["permissions"] for path in WORKFLOWS}
    assert {n: given for n, given in may.items() if given != {"contents": "read"}} == {}


def test_a_workflow_cannot_hang_or_pile_up():
    groups = {path.stem: workflow(path)["concurrency"]["group"] for path in WORKFLOWS}
    assert all(groups.values()), groups
    jobs = {(path.stem, n): j for path in WORKFLOWS for n, j in workflow(path)["jobs"].items()}
    minutes = {name: job["timeout-minutes"] for name, job in jobs.items()}
    assert {name: m for name, m in minutes.items() if not 0 < m <= 150} == {}


PINNED = r"[\w./-]+@[0-9a-f]{40}"


def holds_a_token(job):
    """Whether a job may write: to the repository, its pages, or a package index."""
    return "write" in job.get("permissions", {}).values()


def test_actions_are_pinned_to_a_major_version_and_to_a_commit_in_a_job_that_may_write():
    def unpinned(path):
        return [
            step["uses"]
            for job in workflow(path)["jobs"].values()
            for step in job["steps"]
            if "uses" in step
            and not re.fullmatch(
                PINNED if holds_a_token(job) else r"[\w./-]+@v\d+", step["uses"]
            )
        ]

    expect_in_none(unpinned, WORKFLOWS)
    jobs = [j for path in WORKFLOWS for j in workflow(path)["jobs"].values()]
    assert len([job for job in jobs if holds_a_token(job)]) == 3


def test_a_commit_of_an_action_has_its_version_beside_it_and_one_version_one_commit():
    named = [
        (action, commit, version)
        for path in WORKFLOWS
        for action, commit, version in re.findall(
            r"uses: (\S+)@([0-9a-f]{40})(.*)$", path.read_text("utf-8"), re.MULTILINE
        )
    ]
    assert len(named) > 5
    expect_nothing(n for n in named if not re.fullmatch(r" # v\d+\.\d+\.\d+", n[2]))
    assert len(set(named)) == len({action for action, _, _ in named})


def test_a_checkout_keeps_no_credentials():
    def kept(path):
        found = [s for s in steps(path) if s.get("uses", "").startswith("actions/checkout")]
        return [s for s in found if s["with"]["persist-credentials"] is not False]

    expect_in_none(kept, WORKFLOWS)


def test_what_an_event_says_is_never_pasted_into_a_shell():
    expect_in_none(lambda path: "${{" in commands(path), WORKFLOWS)


def test_workflows_call_targets_and_files_that_exist():
    def missing(path):
        told = commands(path)
        targets = set(re.findall(r"\bmake ([a-z-]+)", told)) - TARGETS
        named = re.findall(r"(?<![\w/.-])((?:tools|\.ci)/[\w./]+|[\w-]+\.(?:txt|md))\b", told)
        return [*targets, *(name for name in named if not (ROOT / name).exists())]

    expect_in_none(missing, WORKFLOWS)


def test_pages_are_taken_from_where_the_book_is_built():
    built = make_book.WHOLE.html.relative_to(ROOT).as_posix()

    def elsewhere(path):
        paths = [step["with"]["path"] for step in steps(path) if "path" in step.get("with", {})]
        return {p for p in paths if "site" in p} - {built}

    expect_in_none(elsewhere, WORKFLOWS)


def test_strangers_do_not_reach_our_own_machines():
    for path in WORKFLOWS:
        content = workflow(path)
        own = [job for job in content["jobs"].values() if "self-hosted" in job["runs-on"]]
        assert not (own and {"pull_request", "pull_request_target"} & set(content["on"]))


def test_continuous_integration_runs_the_script_of_contributors():
    (path,) = [path for path in WORKFLOWS if path.stem == "ci"]
    matrix = workflow(path)["jobs"]["cpu"]["strategy"]["matrix"]["python"]
    assert {"3.11", "3.12"} <= set(matrix)
    assert "bash .ci/run" in commands(path)


def test_pages_are_published_from_what_ci_built_once_its_tests_have_passed():
    (pages,) = [workflow(path) for path in WORKFLOWS if path.stem == "pages"]
    (ci,) = [path for path in WORKFLOWS if path.stem == "ci"]
    assert pages["on"] == {
        "workflow_run": {
            "workflows": [workflow(ci)["name"]],
            "types": ["completed"],
            "branches": ["main"],
        }
    }
    condition = pages["jobs"]["site"]["if"]
    assert "workflow_run.conclusion == 'success'" in condition
    assert "workflow_run.event != 'pull_request'" in condition
    assert pages["jobs"]["notebooks"]["needs"] == "site"
    taken = {
        step["with"]["name"]
        for job in pages["jobs"].values()
        for step in job["steps"]
        if step.get("uses", "").startswith("actions/download-artifact@")
        and step["with"]["run-id"] == "${{ github.event.workflow_run.id }}"
    }
    built = [s["with"] for s in steps(ci) if "upload-artifact" in s.get("uses", "")]
    assert taken == {artifact["name"] for artifact in built} == {"pages", "notebooks"}
    assert not [job for job in pages["jobs"].values() if "make book" in str(job)]


@pytest.mark.parametrize("name", ["ci", "mutate"])
def test_machines_without_an_accelerator_do_not_fetch_cuda(name):
    (path,) = [path for path in WORKFLOWS if path.stem == name]
    assert "--index-url https://download.pytorch.org/whl/cpu" in commands(path)


def test_a_release_says_what_the_changelog_says_of_its_version(tmp_path):
    (path,) = [path for path in WORKFLOWS if path.stem == "release"]
    (step,) = [s for s in steps(path) if s.get("name", "").startswith("What the changelog")]
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## [Unreleased]\n\n- no\n\n## [1.2.0] - 2026-01-02\n\n- yes\n- and\n"
        "\n## [1.1.0] - 2026-01-01\n\n- before\n",
        encoding="utf-8",
    )
    environment = os.environ | {"GITHUB_REF_NAME": "v1.2.0"}
    command = ["bash", "-e", "-c", step["run"]]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "notes" / "notes.md").read_text("utf-8") == "\n- yes\n- and\n\n"
    assert "--notes-file notes/notes.md" in commands(path)


@pytest.mark.parametrize(
    ("seconds", "status", "said"), [(1, 0, ""), (3, 0, "more than its"), (5, 1, "three times")]
)
def test_a_budget_is_said_and_three_budgets_fail(seconds, status, said):
    """Bash counts its seconds in a variable, which the timed command may set."""
    text = TEXTS[".ci/run"]
    function = text[text.index("timed() {") : text.index("\n}\n") + 3]
    late = f"late() {{ SECONDS=$((SECONDS + {seconds})); }}"
    script = f"set -euo pipefail\n{late}\n{function}timed 1 late"
    run = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert run.returncode == status
    assert said in run.stdout + run.stderr
    assert ("budget" in run.stdout + run.stderr) is bool(said)


# --- what contributors meet -----------------------------------------------------------------


def test_editors_break_python_where_ruff_does():
    ruff = tomllib.loads(TEXTS["pyproject.toml"])["tool"]["ruff"]
    rules = (ROOT / ".editorconfig").read_text("utf-8")
    (length,) = re.findall(r"^max_line_length = (\d+)$", rules, re.MULTILINE)
    assert int(length) == ruff["line-length"]
    assert ruff.get("indent-width", 4) == 4
    assert "[*.{py,toml}]\nindent_size = 4\n" in rules


def test_the_form_for_a_number_asks_for_place_print_expectation_and_source():
    form = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE/number.yml").read_text("utf-8"))
    asked = {f["id"] for f in form["body"] if f.get("validations", {}).get("required")}
    assert asked == {"place", "printed", "expected", "source"}


def test_a_pull_request_has_a_list_of_five():
    assert (ROOT / ".github/pull_request_template.md").read_text("utf-8").count("- [ ] ") == 5


def test_actions_are_kept_up_to_date():
    (update,) = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text("utf-8"))["updates"]
    assert (update["package-ecosystem"], update["directory"]) == ("github-actions", "/")


@pytest.mark.parametrize(
    "place", ["`__all__`", "`book/api/", "index_page.py write", "`make format`", "*Unreleased*"]
)
def test_the_steps_of_a_method_name_every_place_that_a_test_asks_for(place):
    method = CONTRIBUTING.split("## How to add a method")[1].split("\n## ")[0]
    assert place in method


def test_format_goes_over_what_check_looks_at():
    assert MAKEFILE.count("$(SOURCES)\n") == 4
    assert "\nSOURCES := mathlm tests tools benchmarks book/lab book/_ext\n" in MAKEFILE


# --- what must not stand anywhere -----------------------------------------------------------


def test_nothing_is_left_to_be_done():
    expect_nothing(where(r"\b(TO[D]O|FIX[M]E|X[X]X)\b"))


def test_no_path_of_somebodys_machine():
    expect_nothing(where(r"(?<![\w.*/:])/(work|root|home/[a-z]+|Users/[A-Za-z]+)/[\w.]+"))
