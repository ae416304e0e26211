"use strict";
// What has the same number shows one layer: clicking marks it everywhere, and brings it into view where it is not.
document.addEventListener("click", event => {
  const link = event.target.closest("[data-l]");
  if (!link) return;
  const was = link.classList.contains("on");
  for (const old of document.querySelectorAll(".on")) old.classList.remove("on");
  if (was) return;
  const seen = new Set();
  for (const one of document.querySelectorAll(`[data-l="${link.dataset.l}"]`)) {
    one.classList.add("on");
    const box = one.closest(".scroll");
    if (!box || seen.has(box) || box === link.closest(".scroll")) continue;
    seen.add(box);
    const a = one.getBoundingClientRect(), b = box.getBoundingClientRect();
    if (a.top < b.top + 30 || a.bottom > b.bottom) box.scrollTop += (a.top + a.bottom - b.top - b.bottom) / 2;
    if (a.left < b.left || a.right > b.right) box.scrollLeft += (a.left + a.right - b.left - b.right) / 2;
  }
});
for (const button of document.querySelectorAll("[data-z]")) {
  const panel = button.closest(".panel"), svg = panel.querySelector("svg");
  button.onclick = () => {
    if (!svg) return;
    const box = svg.parentNode, full = svg.viewBox.baseVal, now = svg.getBoundingClientRect().width;
    const x = (box.scrollLeft + box.clientWidth / 2) / box.scrollWidth, y = (box.scrollTop + box.clientHeight / 2) / box.scrollHeight;
    const all = Math.min(box.clientWidth, box.clientHeight * full.width / full.height, full.width);
    const width = button.dataset.z === "fit" ? all : button.dataset.z === "one" ? full.width : now * button.dataset.z;
    svg.style.cssText = `width:${width}px;max-width:none;min-width:0`;
    box.scrollLeft = x * box.scrollWidth - box.clientWidth / 2;
    box.scrollTop = y * box.scrollHeight - box.clientHeight / 2;
  };
}
for (const head of document.querySelectorAll("th")) head.firstChild.onclick = () => {
  const body = head.closest("table").tBodies[0], at = head.cellIndex, number = head.classList.contains("number");
  const down = head.classList.contains("down") || !number && !head.classList.contains("up") ? 1 : -1;
  for (const other of head.parentNode.cells) other.classList.remove("up", "down");
  head.classList.add(down > 0 ? "up" : "down");
  const key = row => number ? +row.cells[at].dataset.v : row.cells[at].textContent;
  const rows = [...body.rows].map(row => [key(row), row]);
  rows.sort((a, b) => down * (number ? a[0] - b[0] : a[0].localeCompare(b[0], undefined, {numeric: true})));
  body.append(...rows.map(row => row[1]));
};
