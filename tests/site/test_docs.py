"""The documentation: its Python blocks run, its links lead somewhere, every public name is explained by an example."""

from __future__ import annotations

import inspect
import multiprocessing
import re
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import polhode as ph
from conftest import ROOT
from page_blocks import FENCE, blocks, run_page

DOCS = ROOT / "docs"
WRITTEN = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")]
WRITTEN += [
    page for page in sorted(DOCS.rglob("*.md")) if not {"_build", "gallery"} & set(page.relative_to(DOCS).parts)
]

LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\((?P<target>[^)\s]+)\)|!\[[^\]]*\]\((?P<image>[^)\s]+)\)")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="module")
def fresh_process():
    """Runs a function in a new process, in which other packages are imported already, and nothing of polhode."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["numba", "matplotlib.pyplot", "xarray", "page_blocks"])
    with ProcessPoolExecutor(1, context, max_tasks_per_child=1) as pool:
        yield lambda function, *arguments: pool.submit(function, *arguments).result()


@pytest.mark.long
@pytest.mark.parametrize("page", [page for page in WRITTEN if blocks(page.read_text())], ids=name_of)
def test_python_blocks_run(page, tmp_path, fresh_process):
    """In a process of their own, as if the page was pasted, in an empty folder."""
    pytest.importorskip("matplotlib")
    assert "__builtins__" in fresh_process(run_page, page, tmp_path)


def test_a_name_of_another_page_is_not_there(tmp_path, fresh_process):
    first, second = tmp_path / "first.md", tmp_path / "second.md"
    first.write_text("```python\nimport polhode\nimport polhode.integration.running\n```\n")
    second.write_text("```python\nimport polhode\npolhode.running\n```\n")
    fresh_process(run_page, first, tmp_path)
    with pytest.raises(AttributeError, match="no attribute 'running'"):
        fresh_process(run_page, second, tmp_path)


def anchors(page: Path) -> set[str]:
    """Of the headings, as GitHub and the site make them; those of included pages, too."""
    text = page.read_text()
    for included in re.findall(r"^```{include} (\S+)", text, re.M):
        text += (page.parent / included).read_text()
    text = FENCE.sub("", text)
    headings = re.findall(r"^#+ +(.+?) *$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading).lower()).replace(" ", "-") for heading in headings}


def links(page: Path) -> list[str]:
    text = re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text()))
    return [match["target"] or match["image"] for match in LINK.finditer(text)]


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_internal_links_lead_somewhere(page):
    for target in links(page):
        if re.match(r"https?:", target):
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        assert place.exists(), f"{name_of(page)} links to {target}, which does not exist"
        assert place.is_relative_to(ROOT), f"{name_of(page)} links to {target}, outside of the repository"
        if anchor:
            assert anchor in anchors(place), f"{name_of(page)} links to {target}; there is {sorted(anchors(place))}"


def test_every_page_is_in_a_table_of_contents():
    listed = set()
    for page in WRITTEN:
        for body in re.findall(r"^```{toctree}\n(.*?)^```", page.read_text(), re.M | re.S):
            for entry in body.split():
                listed |= {found.resolve() for found in page.parent.glob(f"{entry}.md")}
    pages = {page.resolve() for page in WRITTEN if DOCS in page.parents} - {(DOCS / "index.md").resolve()}
    assert pages <= listed, f"in no toctree: {sorted(map(str, pages - listed))}"


# Docstrings


def public() -> list[tuple[str, object]]:
    """The public names, and those of the public modules."""
    found: dict[str, object] = {}
    for name in ph.__all__:
        value = getattr(ph, name)
        if not inspect.ismodule(value):
            found[name] = value
            continue
        own = getattr(value, "__all__", None) or [
            key for key, member in vars(value).items() if getattr(member, "__module__", "") == value.__name__
        ]
        members = ((key, getattr(value, key)) for key in own if not key.startswith("_"))
        found |= {f"{name}.{key}": member for key, member in members if callable(member)}
    return sorted(found.items())


INNER = {  # not for users: protocols, abstract classes and helpers of public modules
    "adapters.SiteEngine", "flows.load", "flows.variants", "geometry.Motion", "interactions.Interaction",
    "rotation.is_rotation", "rotation.quaternion_components", "sampling.Axis", "sampling.as_law", "sampling.as_samples",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"), [pytest.param(*pair, id=pair[0]) for pair in public() if pair[0] not in INNER]
)
def test_docstring_with_an_example(name, value):
    text = inspect.getdoc(value) or ""
    assert text.strip(), f"{name} has no docstring"
    assert ">>>" in text, f"{name} has no example in its docstring"


def test_the_reference_has_every_public_name():
    """By itself, or as a module whose members are all shown."""
    text = "\n".join(page.read_text() for page in (DOCS / "api").glob("*.md"))
    shown = {name for name, _ in public() if re.search(rf":: polhode\.{re.escape(name)}\n", text)}
    whole = set(re.findall(r"automodule:: polhode\.(\w+)", text))
    members = {name.split(".")[-1] for name in shown} | {
        n.split(".")[-1] for n, _ in public() if n.split(".")[0] in whole
    }
    assert [name for name, _ in public() if name not in INNER and name.split(".")[-1] not in members] == []
