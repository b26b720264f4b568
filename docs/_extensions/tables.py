"""Tables made of what the package declares: a directive ``{declared} flows``, and so on for the names in TABLES."""

from __future__ import annotations

from collections.abc import Iterable

from sphinx.util.docutils import SphinxDirective


def flows() -> list[tuple[str, ...]]:
    from polhode.flows import variants
    from polhode.flows.flow import INVARIANTS

    rows = [("flow", "order", "keeps", "structure", "what it is")]
    for record in (flow.record for flow in variants()):
        marks = {"symmetric": record.symmetric, "Poisson": record.poisson, "symplectic": record.symplectic}
        keeps = ", ".join(name for name in INVARIANTS if name in record.preserves)
        structure = ", ".join(word for word, declared in marks.items() if declared)
        rows.append((_code(record.name), str(record.order or "exact"), keeps, structure, record.summary))
    return rows


def schemes() -> list[tuple[str, ...]]:
    from polhode.methods.schemes import SCHEMES

    rows = [("scheme", "order", "weak torques", "torques", "gradients", "made for", "from")]
    for scheme in SCHEMES.values():
        weak = ", ".join(map(str, scheme.generalized_order))
        made_for = "torques of the attitude alone" if scheme.rkn_only else "any torque"
        counts = str(scheme.torques_per_step), str(scheme.gradients_per_step or "")
        rows.append((_code(scheme.name), str(scheme.order), weak, *counts, made_for, _short(scheme.references)))
    return rows


def methods() -> list[tuple[str, ...]]:
    from polhode.methods import METHODS, load

    return [("method", "what it is"), *((_code(name), load(name).__doc__.splitlines()[0]) for name in METHODS)]


def problems() -> list[tuple[str, ...]]:
    from polhode.problems import REGISTRY

    made = [(name, make()) for name, make in REGISTRY.items()]
    return [
        ("problem", "what it is", "force", "from"),
        *((_code(n), p.summary, repr(p.force) if p.force else "free", _short(p.references)) for n, p in made),
    ]


def references() -> list[tuple[str, ...]]:
    from polhode.core import references as texts

    found = [value for name, value in vars(texts).items() if name.isupper() and isinstance(value, str)]
    return [("publication",), *((text,) for text in sorted(found))]


def _code(text: str) -> str:
    return f"`{text}`"


def _short(references: Iterable[str]) -> str:
    """Authors and year."""
    return "; ".join(_authors_and_year(text) for text in references)


def _authors_and_year(text: str) -> str:
    authors = text.split(",")[0]
    years = [word.strip("().,:;") for word in text.split()]
    year = next((word for word in years if len(word) == 4 and word.isdigit() and word[:2] in ("18", "19", "20")), "")
    return f"{authors} {year}".strip()


TABLES = {make.__name__: make for make in (flows, schemes, methods, problems, references)}


class Declared(SphinxDirective):
    required_arguments = 1

    def run(self):
        head, *rows = TABLES[self.arguments[0]]()
        lines = [head, ["---"] * len(head), *rows]
        text = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines)
        return self.parse_text_to_nodes(text)


def setup(app):
    app.add_directive("declared", Declared)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
