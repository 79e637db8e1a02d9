// Lists (table.list) can be sorted by a column and filtered by words; without this they are whole.
"use strict";
// As people sort: 9 before 10, accents beside their letters; quick for ten thousand rows.
const name = (text) =>
  text.trim().toLowerCase().normalize("NFD").replace(/\p{M}/gu, "")
    .replace(/\d+/g, (digits) => digits.padStart(15, "0"));
const number = (text) => {
  const digits = text.replaceAll(",", "").match(/-?\d+(\.\d+)?/);
  return digits ? Number(digits[0]) : NaN;
};
const ascending = (one, other) => (one < other ? -1 : Number(one > other));

function sortable(table, body) {
  table.querySelectorAll("thead th").forEach((head, column) => {
    if (!head.textContent.trim()) return;
    const isNumber = head.classList.contains("number");
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const was = head.getAttribute("aria-sort");
      const down = isNumber ? was !== "descending" : was === "ascending";
      table.querySelectorAll("[aria-sort]").forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = isNumber ? number : name;
      const rows = Array.from(body.rows, (row) => [key(row.cells[column].textContent), row]);
      rows.sort(([one], [other]) => {
        const blanks = Number.isNaN(one) - Number.isNaN(other); // last, whichever the order
        return blanks || (down ? ascending(other, one) : ascending(one, other));
      });
      body.remove(); // rows that are not shown are moved quickly
      for (const [, row] of rows) body.append(row);
      table.append(body);
    });
  });
}

function filterable(table, body) {
  const text = (row) => Array.from(row.cells, (cell) => cell.textContent).join(" ");
  const rows = Array.from(body.rows, (row) => [text(row).toLowerCase(), row]);
  const label = document.createElement("label");
  const input = document.createElement("input");
  const told = document.createElement("output");
  input.type = "search";
  label.append("Show rows with ", input);
  const tools = document.createElement("div");
  tools.className = "tools";
  tools.append(label, told);
  table.closest(".scroll").before(tools);
  const total = rows.length.toLocaleString("en");
  let pause;
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/);
    let shown = 0;
    for (const [said, row] of rows) {
      const hidden = !words.every((word) => said.includes(word));
      if (row.hidden !== hidden) row.hidden = hidden;
      shown += !hidden;
    }
    told.value = `${shown.toLocaleString("en")} of ${total} rows`;
  };
  told.value = `${total} rows`;
  input.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(filter, 120);
  });
}

for (const table of document.querySelectorAll("table.list")) {
  const body = table.tBodies[0];
  if (body.rows.length < 2) continue;
  sortable(table, body);
  if (body.rows.length > 8) filterable(table, body);
}
