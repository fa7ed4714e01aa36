"use strict";
// Sorts a table by the heading that is clicked: numbers downwards first, words upwards.
for (const table of document.querySelectorAll("table.sortable")) {
  table.tHead.addEventListener("click", ({ target }) => {
    const column = [...target.parentNode.children].indexOf(target);
    const body = table.tBodies[0];
    const key = (row) => row.cells[column].dataset.key ?? "";
    const rows = [...body.rows];
    const numeric = rows.every((row) => key(row) !== "" && !Number.isNaN(Number(key(row))));
    const sign = (numeric ? -1 : 1) * (target.dataset.sorted === "once" ? -1 : 1);
    for (const heading of target.parentNode.children) if (heading !== target) delete heading.dataset.sorted;
    target.dataset.sorted = target.dataset.sorted === "once" ? "twice" : "once";
    rows.sort((a, b) => sign * (numeric ? key(a) - key(b) : key(a).localeCompare(key(b))));
    body.append(...rows);
  });
}
