"""Looks at a page as a person would: what can be read, what overlaps, what sticks out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

_TEXTS = """
const texts = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node; (node = walker.nextNode()); ) {
  const holder = node.parentElement;
  if (!node.data.trim() || ["SCRIPT", "STYLE", "TITLE"].includes(holder.tagName.toUpperCase())) continue;
  const properties = { contentVisibilityAuto: true, opacityProperty: true, visibilityProperty: true };
  if (!holder.checkVisibility(properties)) continue;
  const range = document.createRange();
  range.selectNodeContents(node);
  const boxes = [...range.getClientRects()].filter(box => box.width > 0 && box.height > 0);
  if (boxes.length) texts.push({ node, holder, boxes, text: node.data.trim() });
}
"""

_CONTRAST = (
    """() => {"""
    + _TEXTS
    + """
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
function parts(colour) {  // of any way to write one
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
  return { rgb: [r, g, b], a: a / 255 };
}
function luminance(rgb) {
  const [r, g, b] = rgb.map(part => part / 255).map(part =>
    part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function behind(element) {
  const box = element.closest("svg g")?.querySelector(":scope > .box");
  if (box) return parts(getComputedStyle(box).fill).rgb;
  for (let one = element; one; one = one.parentElement) {
    const paper = parts(getComputedStyle(one).backgroundColor);
    if (paper.a > 0.99) return paper.rgb;
  }
  return parts(getComputedStyle(document.documentElement).colorScheme.includes("dark") ? "#121212" : "#ffffff").rgb;
}
return texts.map(({ holder, text }) => {
  const style = getComputedStyle(holder);
  const ink = parts(holder.closest("svg") ? style.fill : style.color).rgb;
  const [low, high] = [luminance(ink), luminance(behind(holder))].sort((a, b) => a - b);
  return { text, ratio: (high + 0.05) / (low + 0.05) };
});
}"""
)

_OVERLAPS = (
    """() => {"""
    + _TEXTS
    + """
// What scrolls within a box of its own is cut off there.
const boxes = [];
for (const { holder, boxes: own, text } of texts) {
  if (holder.closest("svg, pre")) continue;
  for (const box of own) boxes.push({ box, text });
}
const found = [];
for (let i = 0; i < boxes.length; i++)
  for (let j = i + 1; j < boxes.length; j++) {
    const [a, b] = [boxes[i].box, boxes[j].box];
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (across > 2 && down > 4) found.push(`${boxes[i].text} | ${boxes[j].text}`);
  }
return found;
}"""
)


def hard_to_read(page: Page, least: float = 4.5) -> list[str]:
    """Returns the texts of a page whose contrast to what is behind them is too small; nothing if there is no text."""
    seen: list[dict[str, Any]] = page.evaluate(_CONTRAST)
    assert seen, "the page shows no text"
    return [f"{one['text'][:60]}: {one['ratio']:.2f}" for one in seen if one["ratio"] < least]


def overlaps(page: Page) -> list[str]:
    """Returns pairs of texts that stand on each other."""
    found: list[str] = page.evaluate(_OVERLAPS)
    return found


def sticks_out(page: Page) -> int:
    """Returns how many pixels the page is wider than its window."""
    width: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return width
