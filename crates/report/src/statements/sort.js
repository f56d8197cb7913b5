"use strict";
// Sorts a table by the column whose head is pressed. Without script the table stays as it is.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  heads.forEach((head, column) => {
    const isNumber = head.classList.contains("number");
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    const key = (row) => {
      const cell = row.cells[column];
      return isNumber ? parseFloat(cell.dataset.value ?? "NaN") : cell.textContent.replace(/^#\d+ /, "");
    };
    button.addEventListener("click", () => {
      const first = isNumber ? "descending" : "ascending";
      const other = isNumber ? "ascending" : "descending";
      const order = head.getAttribute("aria-sort") === first ? other : first;
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      // What is not known stands last, whatever the order.
      const compare = ([a], [b]) => {
        if (a === b || (a !== a && b !== b)) return 0;
        if (a !== a || b !== b) return a !== a ? 1 : -1;
        return (a < b ? -1 : 1) * sign;
      };
      const rows = [...body.rows].map((row) => [key(row), row]).sort(compare);
      body.append(...rows.map(([, row]) => row));
    });
  });
}
