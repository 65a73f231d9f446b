// Pointing at a rule, or going to it by keyboard, marks every place that comes from it.
const ruleOf = element => element.closest?.("[data-rule]")?.dataset.rule.split(".")[0];
function mark(rule) {
  for (const element of document.querySelectorAll("[data-rule]"))
    element.classList.toggle("em-marked", rule !== undefined && element.dataset.rule.split(".")[0] === rule);
}
document.addEventListener("mouseover", event => mark(ruleOf(event.target)));
document.addEventListener("focusin", event => mark(ruleOf(event.target)));

// A link to something inside of what is folded opens it.
function reveal() {
  const place = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!place) return;
  for (let above = place.closest("details"); above; above = above.parentElement.closest("details")) above.open = true;
  place.scrollIntoView({ block: "center" });
}
addEventListener("hashchange", reveal);
reveal();

// Opens and closes all of a tree, and changes between light and dark.
for (const button of document.querySelectorAll("button[data-open]")) button.addEventListener("click", () => {
  for (const one of button.closest("section").querySelectorAll(".em-tree details")) one.open = button.dataset.open === "all";
});
document.querySelector("button[data-turn]")?.addEventListener("click", () => {
  const isDark = getComputedStyle(document.body).colorScheme === "dark" ||
    (!document.body.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  document.body.dataset.theme = isDark ? "light" : "dark";
});
