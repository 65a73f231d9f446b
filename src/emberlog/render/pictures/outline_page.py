"""Shows an outline as one page: a tree that opens and closes, beside the program. It needs nothing from elsewhere."""

from __future__ import annotations

from emberlog.logical.summary import counted
from emberlog.render.outline import Kind, Node, Outline, Row, rows
from emberlog.render.outline_text import REPEATED
from emberlog.render.pictures.page_style import PAGE_SCRIPT, page_head
from emberlog.render.pictures.program_listing import program_listing
from emberlog.render.pictures.svg import MONO, escape
from emberlog.render.wording import bindings_text

OPEN_LEVELS = 6
"""Of a large proof."""
LARGE = 200
"""Rows of a proof that does not begin with everything open."""


def outline_page(drawn: Outline) -> str:
    lines = list(rows(drawn))
    levels = OPEN_LEVELS if len(lines) > LARGE else max(row.level for row in lines)
    tree = "\n".join(_row(drawn.nodes[row.place], row, levels) for row in lines)
    facts = sum(node.kind in (Kind.DERIVED, Kind.INPUT, Kind.WRITTEN, Kind.MISSING) for node in drawn.nodes)
    rules = len({node.rule for node in drawn.nodes if node.rule})
    summary = f"{drawn.checked.program.source.name} · {counted(facts, 'fact')} · {counted(rules, 'rule')}"
    remarks = "".join(f'<p class="remark">{escape(line)}</p>\n' for line in drawn.remarks)
    return f"""{page_head(drawn.title, _STYLE)}
<body>
<header>
<h1>{escape(drawn.title)}</h1>
<p>{escape(summary)}</p>
{remarks}</header>
<main>
<section id="tree">
<p class="buttons"><button data-open="all">open all</button> <button data-open="none">close all</button></p>
<div class="tree" role="tree">
{tree}
</div>
</section>
<section id="program">
<h2>Program</h2>
{program_listing(drawn.checked)}
</section>
</main>
<script>
{PAGE_SCRIPT}
{_SCRIPT.strip()}
</script>
</body>
</html>
"""


def _row(node: Node, row: Row, levels: int) -> str:
    is_branch = bool(node.children) and not row.is_repeated
    is_open = row.level < levels
    toggle = (
        f'<button class="toggle" aria-label="open or close" aria-expanded="{str(is_open).lower()}"></button>'
        if is_branch
        else '<span class="toggle"></span>'
    )
    rule = f' data-rule="{escape(node.rule)}"' if node.rule else ""
    anchor = f' id="n{row.place}"' if not row.is_repeated else ""
    above = f'<a class="again" href="#n{row.place}">{REPEATED}</a>' if row.is_repeated else ""
    bindings = f'<span class="bindings">{escape(bindings_text(node.bindings))}</span>' if node.bindings else ""
    how = f'<span class="how">{_linked(node, node.how)}</span>' if node.how else ""
    hidden = "" if row.level <= levels else " hidden"
    return (
        f'<div class="row {node.kind.value}" role="treeitem" style="--level: {row.level}" data-level="{row.level}"'
        f"{anchor}{rule}{hidden}>"
        f"{toggle}<code>{_linked(node, node.text) if node.kind is Kind.RULE else escape(node.text)}</code>"
        f"{how}{above}{bindings}</div>"
    )


def _linked(node: Node, text: str) -> str:
    """Returns the text, with the name of the node's rule as a link to it."""
    if not node.rule:
        return escape(text)
    before, name, after = text.partition(node.rule)
    return f'{escape(before)}<a class="to-rule" href="#program">{escape(name)}</a>{escape(after)}'


_STYLE = f"""
.tree {{ background: var(--panel); border: 1px solid var(--line); border-radius: 10px; padding: 12px 16px;
  overflow-x: auto; }}
.row {{ --indent: min(var(--level), 40); padding-left: calc(var(--indent) * 22px); white-space: nowrap;
  background: repeating-linear-gradient(to right, transparent 0 8px, var(--line) 8px 9px, transparent 9px 22px);
  background-repeat: no-repeat;
  background-size: calc(var(--indent) * 22px) 100%; line-height: 1.75; border-radius: 4px; }}
.row[hidden] {{ display: none; }}
.row.marked {{ background-color: var(--marked); }}
.row:target {{ outline: 2px solid var(--ember); }}
.row code {{ padding-right: 18px; }}
.row .how {{ color: var(--faint); font-size: 13.5px; padding-right: 14px; }}
.row .bindings {{ color: var(--faint); font: 12px/1.6 {MONO}; }}
.row a {{ color: var(--ember); text-decoration: none; font-weight: 600; }}
.row a.again {{ color: var(--blue); font-weight: 400; font-size: 13.5px; padding-right: 14px; }}
.row a:hover {{ text-decoration: underline; }}
.toggle {{ display: inline-block; width: 22px; border: 0; background: none; color: var(--faint); cursor: pointer;
  padding: 0; font: 12px/1 {MONO}; text-align: center; }}
button.toggle[aria-expanded="true"]::before {{ content: "▾"; }}
button.toggle[aria-expanded="false"]::before {{ content: "▸"; }}
span.toggle {{ cursor: default; }}
.row.input > code, .row.written > code {{ color: var(--green); }}
.row.contribution > code {{ color: var(--blue); }}
.row.absence > code, .row.condition > code, .row.more > code {{ color: var(--faint); }}
.row.missing > code, .row.failed > code {{ color: var(--went); }}
.row.rule > code {{ color: var(--ember); }}
header .remark {{ color: var(--ink); margin: 6px 0 0; }}
.buttons {{ margin: 0 0 10px; }}
.buttons button {{ border: 1px solid var(--line); border-radius: 6px; background: var(--panel); color: var(--ink);
  padding: 3px 12px; cursor: pointer; font: inherit; font-size: 13.5px; }}
.listing tr.reached > td {{ background: var(--marked); }}
"""

_SCRIPT = """
// Rows stand in the order of the tree, each with its level: what is below a row are the deeper rows that follow it.
const all = [...document.querySelectorAll(".row")];
const level = row => Number(row.dataset.level);
const toggle = row => row.querySelector("button.toggle");
function show(row, isOpen) {
  toggle(row)?.setAttribute("aria-expanded", isOpen);
  let closedAt = isOpen ? Infinity : level(row);
  for (let place = all.indexOf(row) + 1; place < all.length && level(all[place]) > level(row); place++) {
    const below = all[place];
    if (level(below) <= closedAt) closedAt = isOpen ? Infinity : level(row);
    below.hidden = level(below) > closedAt;
    if (!below.hidden && toggle(below)?.getAttribute("aria-expanded") === "false") closedAt = level(below);
  }
}
for (const row of all) toggle(row)?.addEventListener("click", () =>
  show(row, toggle(row).getAttribute("aria-expanded") === "false"));
for (const button of document.querySelectorAll("[data-open]")) button.addEventListener("click", () => {
  const isOpen = button.dataset.open === "all";
  for (const row of all) {
    toggle(row)?.setAttribute("aria-expanded", isOpen);
    row.hidden = !isOpen && level(row) > 0;
  }
});
// A rule's name leads to the rule in the program, and «as above» to the row where the fact is proved.
for (const link of document.querySelectorAll(".to-rule")) link.addEventListener("click", event => {
  event.preventDefault();
  const name = link.closest("[data-rule]").dataset.rule.split(".")[0];
  const lines = [...document.querySelectorAll(".listing tr[data-rule]")].filter(line => line.dataset.rule === name);
  for (const line of document.querySelectorAll(".reached")) line.classList.remove("reached");
  for (const line of lines) line.classList.add("reached");
  lines[0]?.scrollIntoView({ behavior: "smooth", block: "center" });
});
for (const link of document.querySelectorAll(".again")) link.addEventListener("click", () => {
  let row = document.querySelector(link.getAttribute("href"));
  for (let place = all.indexOf(row); row && place >= 0; place--)
    if (level(all[place]) < level(row)) { show(all[place], true); row = all[place]; }
});
"""
