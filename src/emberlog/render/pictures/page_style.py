"""Gives pages their looks, in light and in dark, and the few lines that show which boxes belong to a rule."""

from __future__ import annotations

from html import escape

from emberlog.render.pictures.svg import MONO, SANS, svg_style

_PAGE = f"""
:root {{
  --paper: #fbfbfa; --ink: #1d242c; --faint: #5a6572; --line: #dfe3e8; --panel: #ffffff;
  --ember: #a34f0d; --marked: #fdf0e3; --came: #256a3f; --went: #a4343a; --blue: #1f5a96; --green: #256a3f;
}}
@media (prefers-color-scheme: dark) {{
  :root {{
    --paper: #14171b; --ink: #e8ecf0; --faint: #a3adb9; --line: #2f363f; --panel: #1a1e23;
    --ember: #f5b27a; --marked: #33251a; --came: #93d3aa; --went: #f0a0a4; --blue: #9cc7f2; --green: #93d3aa;
  }}
}}
* {{ box-sizing: border-box; }}
body {{ margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 {SANS}; }}
header, main {{ max-width: 1290px; margin: 0 auto; padding: 0 32px; }}
header {{ padding-top: 34px; }}
h1 {{ font: 600 24px/1.3 {MONO}; margin: 0; overflow-wrap: anywhere; }}
h2 {{ font-size: 19px; font-weight: 600; margin: 0 0 14px; }}
h3 {{ font-size: 15px; font-weight: 600; margin: 22px 0 8px; }}
h3 .why {{ font-weight: 400; padding-left: 10px; }}
section > .why {{ margin: -8px 0 12px; }}
header p {{ color: var(--faint); margin: 4px 0 14px; }}
nav {{ display: flex; gap: 18px; flex-wrap: wrap; border-bottom: 1px solid var(--line); padding-bottom: 14px; }}
nav a {{ color: var(--blue); text-decoration: none; }}
nav a:hover {{ text-decoration: underline; }}
section {{ padding: 28px 0 6px; scroll-margin-top: 8px; }}
code, pre {{ font-family: {MONO}; font-size: 13px; }}
pre {{ background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 14px 16px; margin: 8px 0;
  overflow-x: auto; line-height: 1.5; }}
figure {{ margin: 0; padding: 20px; background: var(--panel); border: 1px solid var(--line); border-radius: 10px;
  overflow-x: auto; }}
figure svg {{ display: block; margin: 0 auto; }}
table {{ border-collapse: collapse; }}
th {{ text-align: left; font-weight: 600; font-size: 13px; color: var(--faint); }}
th, td {{ padding: 6px 22px 6px 0; vertical-align: top; }}
tr + tr > td {{ border-top: 1px solid var(--line); }}
.why {{ color: var(--faint); font-size: 13.5px; }}
.rule-name {{ color: var(--ember); font: 600 12px/1.6 {SANS}; }}
.listing {{ width: 100%; background: var(--panel); border: 1px solid var(--line); border-radius: 10px;
  border-collapse: separate; border-spacing: 0; padding: 10px 0; }}
.listing td {{ padding: 1px 14px 1px 0; border: 0; vertical-align: baseline; }}
.listing code {{ white-space: pre-wrap; }}
.listing .line {{ color: var(--faint); text-align: right; width: 58px; font: 12px/1.7 {MONO}; user-select: none; }}
.listing .rule-name {{ width: 64px; text-align: right; white-space: nowrap; }}
.comment {{ color: var(--faint); font-style: italic; }}
.text {{ color: var(--green); }}
.number {{ color: var(--blue); }}
.given, .arrow {{ color: var(--ember); }}
.marked > td {{ background: var(--marked); }}
.pass {{ margin: 8px 0; }}
summary {{ cursor: pointer; }}
.effect {{ font-size: 13px; color: var(--faint); padding: 0 8px; }}
.effect.changed {{ color: var(--ember); font-weight: 600; }}
.came {{ color: var(--came); }}
.went {{ color: var(--went); }}
"""

_MARKED = """
.em .marked .box { stroke: #d9762b; stroke-width: 3; }
[data-rule] { cursor: default; }
"""


def page_head(title: str, style: str = "") -> str:
    """Returns the beginning of every page, up to its body; `style` is what the page adds to the style of all."""
    own = f"{style.strip()}\n" if style else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>
{_PAGE.strip()}
{svg_style()}
{_MARKED.strip()}
{own}</style>
</head>"""


PAGE_SCRIPT = """
// Pointing at a rule, in the program or in a picture, marks every place that comes from it.
const ruleOf = element => element.closest("[data-rule]")?.dataset.rule.split(".")[0];
function mark(rule) {
  for (const element of document.querySelectorAll("[data-rule]"))
    element.classList.toggle("marked", rule !== undefined && element.dataset.rule.split(".")[0] === rule);
}
document.addEventListener("mouseover", event => mark(ruleOf(event.target)));
""".strip()
