// In a heat map the arrow keys go from square to square; Tab alone would take long in a large one.
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

for (const map of document.querySelectorAll("table.heat")) {
  map.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    let square = event.target.closest("td");
    if (!step || !square || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    // Squares that no cell is behind are stepped over.
    do square = beside(map, square, step);
    while (square && !square.querySelector("a"));
    square?.querySelector("a").focus();
  });
}

function beside(map, square, [down, right]) {
  const row = map.rows[square.parentElement.rowIndex + down];
  const next = row?.cells[square.cellIndex + right];
  return next?.matches("td") ? next : null;
}
